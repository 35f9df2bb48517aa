"""What a run leaves in its work folder, and how it resumes from there."""

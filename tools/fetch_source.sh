#!/usr/bin/env bash
# Fetch the source of a package from Debian into a folder, and print the name of the archive.
#
#     tools/fetch_source.sh python3.13 FOLDER
#
# It is the newest that Debian has of the package now, in any of the suites, from where the machine has its packages,
# apart from the machine's own lists.
set -euo pipefail
package=$1
mkdir -p "$2/apt/lists/partial" "$2/apt/cache/archives/partial" "$2/apt/etc"
cd "$2"
folder=$PWD

mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* | head -n 1)
printf 'Types: deb-src\nURIs: %s\nSuites: sid forky trixie bookworm\nComponents: main\nTrusted: yes\n' "$mirror" \
  >"apt/etc/debian.sources"
printf 'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "%s/etc";\nDir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n' \
  "$folder/apt" "$folder/apt" "$folder/apt" >apt/apt.conf
export APT_CONFIG=$folder/apt/apt.conf
apt-get update >/dev/null
for release in $(apt-cache showsrc "$package" | awk '/^Version:/ { print $2 }' | sort --version-sort --reverse); do
  if apt-get source --download-only --tar-only "$package=$release" >/dev/null 2>&1; then
    release=${release#*:} # an epoch
    echo "$folder/${package}_${release%-*}".orig.tar.*
    exit
  fi
  echo "Debian has no source of $package $release now" >&2
done
echo "$0: Debian has no source of $package" >&2
exit 1

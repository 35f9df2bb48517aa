#!/usr/bin/env bash
# Compile a Python for Linux with musl, to run a wheel for musl. Debian has none, but the sources: of Python, and of zlib
# and OpenSSL, which pip and transformers need.
#
#     tools/make_musl_python.sh PYTHON ZIG x86_64-linux-musl FOLDER
#
# PYTHON says the version and helps to compile. The result is FOLDER/bin/python3. To start it, the machine needs musl
# (Debian: the package of this name), 1.2.4 or newer (Debian 13): an older one crashes when it loads NumPy's libraries (RELR).
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
python=$1
zig=$2
target=$3
mkdir -p "$4/build"
cd "$4"
folder=$PWD
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# zig links all of a program statically unless told otherwise, and such a one loads no modules. Asked where headers are, as
# setup.py of Python does, it names those of this machine, which are not musl's and which it does not use.
cat >build/cc <<EOF
#!/bin/sh
case " \$* " in *" -E -v "*) exit 1 ;; esac
exec "$zig" cc -target $target -dynamic -Wno-date-time "\$@"
EOF
chmod +x build/cc
export CC=$folder/build/cc CXX=false AR="$zig ar" RANLIB="$zig ranlib" READELF=/usr/bin/readelf
make=(make --silent --jobs="$(nproc)")

unpack() { # package, folder
  local archive
  archive=$("$tools/fetch_source.sh" "$1" build/download)
  mkdir "build/$2"
  tar --extract --file "$archive" --directory "build/$2" --strip-components 1
}

unpack zlib zlib
(cd build/zlib && ./configure --static --prefix="$folder/build/libraries" && "${make[@]}" install)

unpack openssl openssl
(cd build/openssl &&
  ./Configure "linux-${target%%-*}" no-shared no-module no-apps no-docs no-tests --libdir=lib \
    --prefix="$folder/build/libraries" --openssldir=/etc/ssl &&
  "${make[@]}" build_libs && "${make[@]}" install_dev)

# The answers are those of musl 1.2.3; zig's is newer. Nothing else of this machine may be found.
unpack "python$version" python
(cd build/python &&
  ./configure --quiet --prefix="$folder" --build="$(uname -m)-build-linux-musl" --host="$target" --with-build-python="$python" \
    --with-openssl="$folder/build/libraries" --without-ensurepip --disable-test-modules \
    CPPFLAGS="-I$folder/build/libraries/include" LDFLAGS="-L$folder/build/libraries/lib" \
    PKG_CONFIG_LIBDIR="$folder/build/libraries/lib/pkgconfig" \
    ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no ac_cv_func_preadv2=no ac_cv_func_pwritev2=no &&
  "${make[@]}" && "${make[@]}" install)

rm -rf build

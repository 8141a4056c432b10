# Functions for a Debian root made by debootstrap: portability and deb-check source this file, as root and from the
# repository's folder. They set:
#
#   suite      the release of Debian
#   work       the folder that keeps roots and archives
#   root       the folder of the root
#   folder     the folder inside it where commands run
#   toolchain  the Swift toolchain that is bound to /toolchain; empty for none

# Makes the calling script run in namespaces of its own. That of mounts unmounts everything when the script ends in any
# way; that of processes likewise ends the processes in the root.
enter_namespace() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "${0##*/}: only root can make a Debian root (debootstrap, mount, chroot)." >&2
    echo "Run it as root, with swiftc in PATH: sudo env \"PATH=\$PATH\" make ${0##*/}" >&2
    exit 1
  fi
  [ -n "${CUEJACK_IN_NAMESPACE-}" ] ||
    CUEJACK_IN_NAMESPACE=1 exec unshare --mount --pid --ipc --fork --kill-child -- "$0" "$@"
}

# Prints the folder of the toolchain that contains `swiftc`.
toolchain_folder() {
  local resources
  resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
  realpath "$resources/../.."
}

# Prints the Debian mirror of the host's apt.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null |
    sed -n 1p || true
}

in_root() {
  # Keep the machine's proxy settings. Everything else comes from the root.
  local proxies
  mapfile -t proxies < <(env | grep -iE '^(https?|no)_proxy=' || true)
  chroot "$root" env -i "${proxies[@]}" HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${toolchain:+:/toolchain/bin} \
    bash -c 'cd "$0" && exec "$@"' "$folder" "$@" </dev/null
}

# Makes the root in a folder, unless it is complete.
make_root() {
  local target=$1
  [ -e "$target/.complete" ] && return
  Tests/Tools/Gates/deps <(printf '%s\n' debootstrap debian-archive-keyring)
  local mirror=${MIRROR:-$(debian_mirror)}
  rm -rf "$target"
  mkdir -p "$work/archives/partial"
  debootstrap --variant=minbase --cache-dir="$work/archives" "$suite" "$target" \
    "${mirror:-http://deb.debian.org/debian}"
  touch "$target/.complete"
}

mount_root() {
  mkdir -p "$root$folder"
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
  ln -sf pts/ptmx "$root/dev/ptmx"
  mount --bind "$work/archives" "$root/var/cache/apt/archives"
  if [ -n "$toolchain" ]; then
    mkdir -p "$root/toolchain"
    mount --bind "$toolchain" "$root/toolchain"
    mount -o remount,bind,ro "$root/toolchain"
  fi
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}

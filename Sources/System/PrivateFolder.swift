import Glibc

/// Returns whether a folder belongs to the user and is closed to others; nil if it does not exist.
package func isPrivateFolder(_ path: String) -> Bool? {
  var status = stat()
  guard unsafe lstat(path, &status) == 0 else { return nil }
  return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
    && status.st_mode & 0o077 == 0
}

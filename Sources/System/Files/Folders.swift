import CGlibc
import Glibc

/// Returns whether a folder belongs to the user and is closed to others; nil if it does not exist.
package func isPrivateFolder(_ path: String) -> Bool? {
  var status = stat()
  guard unsafe lstat(path.systemName, &status) == 0 else { return nil }
  return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
    && status.st_mode & 0o077 == 0
}

/// The folder for temporary files: TMPDIR, or /tmp. No slash at its end.
package var temporaryFolder: String {
  String((environmentVariable("TMPDIR") ?? "/tmp").withoutLastSlash)
}

/// The folder of the library that Cuejack is in, or of the program that it is linked into. No slash at its
/// end.
package var libraryFolder: String? {
  var words: [UnsafeRawPointer?] = unsafe [nil, nil, nil, nil]
  guard unsafe cue_dladdr(#dsohandle, &words) != 0, let name = unsafe words[0] else { return nil }
  let path = unsafe String(systemName: name.assumingMemoryBound(to: CChar.self))
  return path.pathFolder.isEmpty ? nil : String(path.pathFolder.withoutLastSlash)
}

/// Returns the text of a file; nil if it cannot be read. Foundation's functions read no more than a page
/// of the kernel's files, which have no size.
package func text(ofSystemFile path: String) -> String? {
  guard let file = unsafe fopen(path.systemName, "re") else { return nil }
  defer { unsafe fclose(file) }
  var text: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 1 << 14)
  while true {
    let count = unsafe fread(&part, 1, part.count, file)
    if count == 0 { break }
    text += part[..<count]
  }
  return String(decoding: text, as: UTF8.self)
}

/// The user's home folder: HOME, or the one in the system's list of users.
package var homeFolder: String {
  if let folder = environmentVariable("HOME") { return folder }
  guard let user = unsafe getpwuid(geteuid()) else { return "/" }
  return unsafe String(systemName: user.pointee.pw_dir)
}

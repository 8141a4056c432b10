import Glibc

// Work on files whose names may be no UTF-8, which Foundation's functions cannot name.

/// Returns the kind of what has a path, such as `S_IFREG`, without following a link; nil if there is nothing.
package func fileKind(_ path: String) -> UInt32? {
  var status = stat()
  return unsafe lstat(path.systemName, &status) == 0 ? status.st_mode & S_IFMT : nil
}

/// Returns what a symbolic link has written in it; nil if there is no link.
package func linkTarget(_ path: String) -> String? {
  var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = unsafe target.withUnsafeMutableBytes { target in
    unsafe readlink(
      path.systemName, target.baseAddress!.assumingMemoryBound(to: CChar.self), target.count)
  }
  return count < 0 ? nil : String(systemName: target.prefix(count))
}

/// Removes a file, or a folder with all that is in it. Links are not followed. What cannot be removed stays.
package func removeTree(_ path: String) {
  guard fileKind(path) == S_IFDIR else {
    unsafe unlink(path.systemName)
    return
  }
  for name in names(inFolder: path) ?? [] { removeTree("\(path)/\(name)") }
  unsafe rmdir(path.systemName)
}

/// Returns the `file:` URL of an absolute path.
package func fileURL(_ path: String) -> String {
  var url = "file://"
  for byte in path.systemName.dropLast().map({ UInt8(bitPattern: $0) }) {
    switch byte {
    case 0x2D...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A, 0x7E:
      url.unicodeScalars.append(Unicode.Scalar(byte))
    default:
      let digits = String(byte, radix: 16, uppercase: true)
      url += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
    }
  }
  return url
}

/// Calls `body` with each part of a file, in order.
///
/// - Returns: False if the file cannot be read to its end, with the reason in `errno`, or if `body` returns false.
private func readAll(_ file: CInt, _ body: (ArraySlice<UInt8>) -> Bool) -> Bool {
  var part = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = unsafe Glibc.read(file, &part, part.count)
    if count < 0, errno == EINTR { continue }
    if count <= 0 { return count == 0 }
    if !body(part[..<count]) { return false }
  }
}

/// Writes bytes to an open file.
///
/// - Returns: False if that fails, with the reason in `errno`.
package func writeAll(_ bytes: ArraySlice<UInt8>, to file: CInt) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    if count == 0 { errno = EIO }
    guard count > 0 else { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// Copies a plain file to a new one with the same permissions.
///
/// - Returns: False if that fails, with the reason in `errno`. There may be a part of the copy then.
package func copyFile(_ path: String, to copy: String) -> Bool {
  let file = unsafe open(path.systemName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
  guard file >= 0 else { return false }
  defer { close(file) }
  var status = stat()
  guard unsafe fstat(file, &status) == 0 else { return false }
  guard status.st_mode & S_IFMT == S_IFREG else {
    errno = EINVAL
    return false
  }
  let new = unsafe open(
    copy.systemName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o777)
  guard new >= 0 else { return false }
  let isDone = readAll(file) { writeAll($0, to: new) }
  let code = errno
  let isClosed = close(new) == 0
  if !isDone { errno = code }
  return isDone && isClosed
}

/// Returns whether two files have the same contents.
package func haveSameContents(_ path: String, _ other: String) -> Bool {
  let files = [path, other].map { unsafe open($0.systemName, O_RDONLY | O_NONBLOCK | O_CLOEXEC) }
  defer { for file in files where file >= 0 { close(file) } }
  guard files.allSatisfy({ $0 >= 0 }) else { return false }
  var offset = 0
  var same = [UInt8](repeating: 0, count: 1 << 16)
  let isPrefix = readAll(files[0]) { part in
    var done = 0
    while done < part.count {
      let count = unsafe pread(files[1], &same, part.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0, part.dropFirst(done).prefix(count).elementsEqual(same.prefix(count)) else {
        return false
      }
      done += count
    }
    offset += part.count
    return true
  }
  return unsafe isPrefix && pread(files[1], &same, 1, off_t(offset)) == 0
}

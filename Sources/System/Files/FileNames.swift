import CGlibc
import Glibc

// The system's file names are bytes. Here they are texts, in which a byte that is no UTF-8 is one scalar of
// a private plane. Every call of the system takes `systemName`, and every name from the system comes in by
// `String(systemName:)`. `printable` shows such bytes.

/// The scalars that stand for the bytes 0x80 to 0xFF.
private let byteScalars: Range<UInt32> = 0x10_FE80..<0x10_FF00

extension Unicode.Scalar {
  /// The byte that this scalar of a file name stands for; nil for any other scalar.
  var systemByte: UInt8? { byteScalars.contains(value) ? UInt8(truncatingIfNeeded: value) : nil }
}

extension String {
  /// Creates the text of a file name, of a path or of a word of the command line.
  package init(systemName bytes: some Collection<UInt8>) {
    if let text = String(validating: bytes, as: UTF8.self),
      !text.unicodeScalars.contains(where: { $0.systemByte != nil })
    {
      self = text
      return
    }
    self = ""
    var rest = Array(bytes)[...]
    while let byte = rest.first {
      let length = byte < 0x80 ? 1 : max(1, (~byte).leadingZeroBitCount)
      if let text = String(validating: rest.prefix(length), as: UTF8.self),
        text.unicodeScalars.allSatisfy({ $0.systemByte == nil })
      {
        self += text
        rest = rest.dropFirst(length)
      } else {
        unicodeScalars.append(
          Unicode.Scalar(byteScalars.lowerBound + UInt32(byte - 0x80)) ?? "\u{FFFD}")
        rest = rest.dropFirst()
      }
    }
  }

  /// Creates the text of a file name that ends with a zero.
  package init(systemName: UnsafePointer<CChar>) {
    unsafe self.init(
      systemName: UnsafeRawBufferPointer(start: systemName, count: strlen(systemName)))
  }

  /// The text with Latin-1 in place of bytes that are no UTF-8.
  package var withLatin1: String {
    String(
      UnicodeScalarView(
        unicodeScalars.map { scalar in scalar.systemByte.map { Unicode.Scalar($0) } ?? scalar }))
  }

  /// The bytes of a file name or path, with a zero at the end, as the system's calls take them.
  package var systemName: [CChar] {
    // The private plane's scalars begin with this byte.
    guard utf8.contains(0xF4) else { return Array(utf8CString) }
    var bytes: [CChar] = []
    for scalar in unicodeScalars {
      if let byte = scalar.systemByte {
        bytes.append(CChar(bitPattern: byte))
      } else {
        bytes += scalar.utf8.map { CChar(bitPattern: $0) }
      }
    }
    return bytes + [0]
  }
}

extension StringProtocol {
  /// Returns whether two names have the same bytes.
  package func isSameName(as other: some StringProtocol) -> Bool {
    utf8.elementsEqual(other.utf8)
  }

  /// Returns whether the first bytes are those of `start`.
  package func beginsWithBytes(of start: some StringProtocol) -> Bool {
    utf8.starts(with: start.utf8)
  }

  /// Returns what follows the first bytes; nil unless they are those of `start`.
  package func bytes(after start: some StringProtocol) -> SubSequence? {
    guard beginsWithBytes(of: start) else { return nil }
    return self[utf8.index(utf8.startIndex, offsetBy: start.utf8.count)...]
  }
}

// MARK: - Paths

private let slash = UInt8(ascii: "/")

extension StringProtocol where UTF8View: BidirectionalCollection {
  /// True if the path begins with a slash.
  package var isAbsolutePath: Bool { utf8.first == slash }

  /// The names between the slashes of a path, without empty ones.
  package var pathNames: [SubSequence] { utf8.split(separator: slash).map(range) }

  /// The parts between the slashes of a path, empty ones, too.
  package var pathParts: [SubSequence] {
    utf8.split(separator: slash, omittingEmptySubsequences: false).map(range)
  }

  private func range(_ part: Self.UTF8View.SubSequence) -> SubSequence {
    self[part.startIndex..<part.endIndex]
  }

  /// The path up to its last slash, with it; empty if there is none.
  package var pathFolder: SubSequence { self[..<nameStart] }

  /// The part of a path after its last slash.
  package var pathFile: SubSequence { self[nameStart...] }

  /// The path without the extension of its last name, and the extension with its dot. A dot at the beginning
  /// of a name is none of an extension.
  package var pathStem: SubSequence { self[..<extensionStart] }
  package var pathExtension: SubSequence { self[extensionStart...] }

  /// The path without a slash at its end.
  package var withoutLastSlash: SubSequence {
    utf8.last == slash ? self[..<utf8.index(before: endIndex)] : self[...]
  }

  private var nameStart: Index {
    utf8.lastIndex(of: slash).map { utf8.index(after: $0) } ?? startIndex
  }

  private var extensionStart: Index {
    let start = nameStart
    let dot = utf8[start...].lastIndex(of: UInt8(ascii: "."))
    return dot == start ? endIndex : dot ?? endIndex
  }
}

/// Returns the last name of a path; the path itself if it has none.
package func fileName(_ path: String) -> String { path.pathNames.last.map(String.init) ?? path }

// MARK: - The system's folders

/// Returns the names in a folder, without . and .., in no order; nil if it cannot be read.
package func names(inFolder path: String) -> [String]? {
  guard let folder = unsafe opendir(path.systemName) else { return nil }
  defer { unsafe closedir(folder) }
  var names: [String] = []
  while let entry = unsafe readdir(folder) {
    let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
      unsafe String(systemName: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// Returns an absolute path without links; nil if there is no such file.
package func resolvedPath(_ path: String) -> String? {
  guard let real = unsafe realpath(path.systemName, nil) else { return nil }
  defer { unsafe free(real) }
  return unsafe String(systemName: real)
}

/// The path of the process's current folder; nil if it has been removed.
package var currentFolder: String? { resolvedPath(".") }

/// Makes a folder and those that it is in.
///
/// - Returns: False if it is not there afterwards.
package func makeFolders(_ path: String) -> Bool {
  var made = path.isAbsolutePath ? "/" : ""
  for name in path.pathNames {
    made += "\(name)/"
    if unsafe mkdir(made.systemName, 0o777) != 0, errno != EEXIST { return false }
  }
  var status = stat()
  return unsafe stat((made.isEmpty ? "." : made).systemName, &status) == 0
    && status.st_mode & S_IFMT == S_IFDIR
}

/// Returns the path that a path's links lead to, whether or not there is a file; nil and `errno` if they go
/// round.
package func followedPath(_ path: String) -> String? {
  var path = path
  for _ in 0..<40 {
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe target.withUnsafeMutableBytes { target in
      unsafe readlink(
        path.systemName, target.baseAddress!.assumingMemoryBound(to: CChar.self), target.count)
    }
    if count < 0 { return path }
    let text = String(systemName: target.prefix(count))
    path = text.isAbsolutePath ? text : path.pathFolder + text
  }
  errno = ELOOP
  return nil
}

/// Renames a file, unless the new name is taken.
///
/// - Parameters:
///   - folder: Descriptor of the folder that a relative name is in; AT_FDCWD for the current one.
/// - Returns: False if that fails, with the reason in `errno`: EEXIST if the name is taken.
package func moveWithoutReplacing(
  _ old: String, in folder: CInt = AT_FDCWD, to new: String, in other: CInt = AT_FDCWD
) -> Bool {
  let (old, new) = (old.systemName, new.systemName)
  let noReplace: CUnsignedInt = 1
  if unsafe cue_renameat2(folder, old, other, new, noReplace) == 0 { return true }
  // Some file systems have no such rename. A link fails, too, if the name is taken.
  guard errno == EINVAL || errno == ENOSYS else { return false }
  if unsafe linkat(folder, old, other, new, 0) == 0 {
    unsafe unlinkat(folder, old, 0)
    return true
  }
  // Nor hard links.
  guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { return false }
  var status = stat()
  if unsafe fstatat(other, new, &status, AT_SYMLINK_NOFOLLOW) == 0 {
    errno = EEXIST
    return false
  }
  return unsafe renameat(folder, old, other, new) == 0
}

// MARK: - Showing

/// Replaces control characters of `text` by question marks, and bytes of file names that are no UTF-8 by
/// \xE9 and the like.
package func printable(_ text: String) -> String {
  escaped(
    text.unicodeScalars.contains(where: isControl)
      ? String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "?" : $0 }))
      : text)
}

/// Replaces bytes of file names that are no UTF-8 by \xE9 and the like.
///
/// - Parameter mark: What stands before the hexadecimal digits.
package func escaped(_ text: String, mark: String = "\\x") -> String {
  guard text.utf8.contains(0xF4) else { return text }
  var result = ""
  for scalar in text.unicodeScalars {
    if let byte = scalar.systemByte {
      result += mark + String(byte, radix: 16, uppercase: true)
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
  return result
}

private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
}

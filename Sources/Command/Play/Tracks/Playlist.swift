import Files
import Glibc
import RealTime
import System

/// The sounds that a playlist names: .m3u, .m3u8, .pls, or a cue sheet.
struct Playlist {
  /// A sound file, or a part of one.
  struct Entry: Sendable, Equatable {
    var path: String
    var start = TimeValue.zero
    var end: TimeValue?
    /// Where the entry stands, for messages; empty if it is no entry of a list.
    var location = ""
  }

  private static let mostBytes = 1 << 24
  private static let mostEntries = 100_000

  let entries: [Entry]

  /// True if a path's extension is that of a playlist.
  static func isPlaylist(_ path: String) -> Bool { kind(of: path) != nil }

  private enum Kind: String { case m3u, m3u8, pls, cue }

  private static func kind(of path: String) -> Kind? {
    Kind(rawValue: path.pathExtension.dropFirst().lowercased())
  }

  /// Reads a playlist.
  init(path: String) throws(PlaylistError) {
    let lines = try Self.lines(of: path)
    let entries =
      switch Self.kind(of: path) {
      case .pls: try Self.pls(lines, path)
      case .cue: try CueSheet(lines, path).entries
      default: try Self.m3u(lines, path)
      }
    if entries.isEmpty { throw PlaylistError(path, "the playlist names no sound files") }
    if entries.count > Self.mostEntries {
      throw PlaylistError(path, "the playlist names more than \(Self.mostEntries) files")
    }
    self.entries = entries
  }

  /// Reads the lines of a text in UTF-8 or UTF-16. Other bytes are taken for those of file names.
  private static func lines(of path: String) throws(PlaylistError) -> [Substring] {
    var status = stat()
    guard unsafe stat(path.systemName, &status) == 0 else {
      throw PlaylistError(path, "no such file")
    }
    // A named pipe would block, and a device has no end.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw PlaylistError(path, "it is not a plain file")
    }
    guard status.st_size <= mostBytes else {
      throw PlaylistError(path, "it is too large for a playlist")
    }
    guard let bytes = try? FileStore(path: path).bytes(at: 0, count: Int(status.st_size)) else {
      throw PlaylistError(path, "it cannot be read")
    }
    return text(bytes).split(
      omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
    )
  }

  private static func text(_ bytes: [UInt8]) -> String {
    func wide(_ high: Int) -> String {
      let units = stride(from: 2, to: bytes.count - 1, by: 2).map {
        UInt16(bytes[$0 + high]) << 8 | UInt16(bytes[$0 + 1 - high])
      }
      return String(decoding: units, as: UTF16.self)
    }
    if bytes.starts(with: [0xFF, 0xFE]) { return wide(1) }
    if bytes.starts(with: [0xFE, 0xFF]) { return wide(0) }
    let rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    return String(systemName: rest)
  }

  private static func m3u(_ lines: [Substring], _ path: String) throws(PlaylistError) -> [Entry] {
    var entries: [Entry] = []
    for (index, line) in lines.enumerated() {
      let word = trimmed(line)
      if word.isEmpty || word.hasPrefix("#") { continue }
      entries.append(try entry(word, path, line: index + 1))
    }
    return entries
  }

  private static func pls(_ lines: [Substring], _ path: String) throws(PlaylistError) -> [Entry] {
    var found: [(number: Int, entry: Entry)] = []
    for (index, line) in lines.enumerated() {
      let sides = line.split(separator: "=", maxSplits: 1)
      guard sides.count == 2 else { continue }
      let key = trimmed(sides[0]).lowercased()
      guard key.hasPrefix("file"), let number = Int(key.dropFirst(4)) else { continue }
      found.append((number, try entry(trimmed(sides[1]), path, line: index + 1)))
    }
    return found.sorted { $0.number < $1.number }.map(\.entry)
  }

  /// Returns the entry for a name in a playlist, which is relative to the playlist's folder.
  static func entry(_ name: String, _ list: String, line: Int) throws(PlaylistError) -> Entry {
    let location = "\(list):\(line)"
    var path = name
    if let scheme = name.firstRange(of: "://"), !name[..<scheme.lowerBound].contains("/") {
      let decoded = withoutPercents(name[scheme.upperBound...])
      guard name[..<scheme.lowerBound].lowercased() == "file",
        let slash = decoded.utf8.firstIndex(of: UInt8(ascii: "/"))
      else {
        throw PlaylistError(location, "\(name): only files are played, no network addresses")
      }
      path = String(decoded[slash...])
    }
    if path.isEmpty || path.unicodeScalars.contains("\0") {
      throw PlaylistError(location, "the name of the file is not valid")
    }
    let full = path.isAbsolutePath ? path : list.pathFolder + path
    // A list may be in Latin-1 though the names are not, and lists from Windows have backslashes.
    let names = [full, full.withLatin1].flatMap { [$0, $0.replacing("\\", with: "/")] }
    return Entry(
      path: names.first { unsafe access($0.systemName, F_OK) == 0 } ?? full.withLatin1,
      location: location)
  }

  /// Decodes `%20` and the like.
  private static func withoutPercents(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let code = UInt8(Substring(rest.prefix(2)), radix: 16) {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(systemName: bytes)
  }

  static func trimmed(_ text: some StringProtocol) -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}

/// A fault of a playlist: where and what.
struct PlaylistError: Error, CustomStringConvertible {
  let description: String
  init(_ location: String, _ reason: String) { description = "\(location): \(reason)" }
}

/// The tracks of a cue sheet: parts of sound files without gaps between them.
struct CueSheet {
  private(set) var entries: [Playlist.Entry] = []
  /// The file of the last FILE command.
  private var file: Playlist.Entry?
  /// True if the present track has sound; nil before the first track of a file.
  private var hasSound: Bool?
  /// Index in `entries` of the track before, in the present file.
  private var previous: Int?
  private var lastIndex = 0

  fileprivate init(_ lines: [Substring], _ path: String) throws(PlaylistError) {
    for (index, line) in lines.enumerated() {
      let words = Self.words(line)
      guard let command = words.first?.uppercased() else { continue }
      let location = "\(path):\(index + 1)"
      switch command {
      case "FILE":
        guard words.count >= 2 else { throw PlaylistError(location, "FILE names no file") }
        if words.count > 2, ["BINARY", "MOTOROLA"].contains(words[2].uppercased()) {
          throw PlaylistError(location, "\(words[1]): raw images of discs are not played")
        }
        file = try Playlist.entry(words[1], path, line: index + 1)
        (hasSound, previous, lastIndex) = (nil, nil, 0)
      case "TRACK":
        guard file != nil, words.count >= 3 else {
          throw PlaylistError(location, "TRACK has no file or no type")
        }
        hasSound = words[2].uppercased() == "AUDIO"
      case "INDEX":
        guard words.count >= 3, let number = Int(words[1]), let time = Self.time(words[2]) else {
          throw PlaylistError(location, "INDEX takes a number and a time such as 03:12:40")
        }
        if number == 1 { try begin(at: time, location) }
      default: break
      }
    }
  }

  /// Begins the present track at a time in 75ths of a second, and ends the one before there.
  private mutating func begin(at time: Int, _ location: String) throws(PlaylistError) {
    guard var entry = file, let hasSound else {
      throw PlaylistError(location, "INDEX stands outside a track")
    }
    guard time >= lastIndex else {
      throw PlaylistError(location, "the track begins before the last one")
    }
    lastIndex = time
    let seconds = TimeValue.seconds(Double(time) / 75)
    if let previous { entries[previous].end = seconds }
    previous = nil
    guard hasSound else { return }
    entry.start = seconds
    entry.location = location
    previous = entries.count
    entries.append(entry)
  }

  /// Parses minutes, seconds and 75ths.
  private static func time(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt32($0) }
    guard parts.count == 3, let minutes = parts[0], let seconds = parts[1], let frames = parts[2],
      minutes < 100_000, seconds < 60, frames < 75
    else { return nil }
    return (Int(minutes) * 60 + Int(seconds)) * 75 + Int(frames)
  }

  /// Splits a line into words; quotation marks keep words together.
  private static func words(_ line: Substring) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for character in line {
      if character == "\"" {
        isQuoted.toggle()
        word = word ?? ""
      } else if !isQuoted, character == " " || character == "\t" {
        if let finished = word { words.append(finished) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let word { words.append(word) }
    return words
  }
}

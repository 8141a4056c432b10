package import System

/// The names of a recording's files, from a template: `%n` stands for a number, and the conversions of
/// `strftime` for the time of the file's first frame. Any thread; `nextNumber` reads a folder.
package struct RecordingNames: Sendable {
  private enum Piece: Equatable {
    case text(String)
    /// A conversion of `strftime`.
    case time(Character)
    case number
  }
  /// A template that cannot be used.
  package enum Fault: Error, Equatable {
    /// The text from a % on, which is no conversion.
    case unknownConversion(String)
  }

  /// The conversions of `strftime` that make sense in names.
  private static let conversions = "aAbBCdeFgGhHIjklmMpPRsSTuUVwWyYzZ"
  private static let digits = 3

  package let template: String
  private var pieces: [Piece] = []

  /// Parses a template.
  ///
  /// - Parameter isSplit: True if the recording has several files: a template without a number gets one
  ///   before its extension, as in `take-001.wav`.
  package init(_ template: String, isSplit: Bool) throws(Fault) {
    self.template = template
    var text = ""
    func end(_ pieces: inout [Piece]) {
      if !text.isEmpty { pieces.append(.text(text)) }
      text = ""
    }
    var rest = template[...]
    while let character = rest.popFirst() {
      guard character == "%" else {
        text.append(character)
        continue
      }
      switch rest.popFirst() {
      case "%"?: text.append("%")
      case "n"?:
        end(&pieces)
        pieces.append(.number)
      case let letter? where Self.conversions.contains(letter):
        end(&pieces)
        pieces.append(.time(letter))
      case let letter: throw .unknownConversion("%\(letter.map(String.init) ?? "")")
      }
    }
    end(&pieces)
    if isSplit, !hasNumber { addNumber() }
  }

  /// Adds a number before the extension of the last component.
  private mutating func addNumber() {
    guard case .text(let text)? = pieces.last,
      let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
      !text.utf8[dot...].contains(UInt8(ascii: "/"))
    else {
      pieces += [.text("-"), .number]
      return
    }
    pieces.removeLast()
    pieces += [.text("\(text[..<dot])-"), .number, .text(String(text[dot...]))]
  }

  /// True if names contain a number, or the time of the first frame.
  package var hasNumber: Bool { pieces.contains(.number) }
  package var hasTime: Bool {
    pieces.contains { piece in
      if case .time = piece { return true }
      return false
    }
  }

  /// Returns the path of a file.
  ///
  /// - Parameters:
  ///   - number: What `%n` stands for, with three digits at least.
  ///   - time: The time of the file's first frame.
  package func path(number: Int, at time: LocalTime) -> String {
    path(at: time) {
      let digits = String(number)
      return String(repeating: "0", count: max(0, Self.digits - digits.count)) + digits
    }
  }

  private func path(at time: LocalTime, number: () -> String) -> String {
    pieces.map { piece in
      switch piece {
      case .text(let text): text
      case .time(let letter): time.formatted("%\(letter)")
      case .number: number()
      }
    }.joined()
  }

  /// Returns the number after the highest one that a file with such a name has; 1 if there is none.
  package func nextNumber(at time: LocalTime) -> Int {
    // No name contains this byte.
    let parts = path(at: time) { "\0" }.utf8.split(separator: 0, omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard parts.count > 1 else { return 1 }
    let folder = parts[0].pathFolder.isEmpty ? "." : String(parts[0].pathFolder)
    // If there are several numbers, or one in a folder's name, the first one of a name counts.
    let end = parts.count == 2 && parts[1].pathFolder.isEmpty ? parts[1] : nil
    var highest = 0
    for name in names(inFolder: folder) ?? [] {
      guard let rest = name.bytes(after: parts[0].pathFile) else { continue }
      let digits = Substring(rest.utf8.prefix { (0x30...0x39).contains($0) })
      guard let number = Int(digits), let tail = rest.bytes(after: digits) else { continue }
      if let end, !tail.isSameName(as: end) { continue }
      highest = max(highest, number)
    }
    return highest + 1
  }
}

import System

extension TextRule {
  package static func hasControls(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) }
  }

  /// A name of a session, track, bus, recording or group.
  package static let name = TextRule(
    "1 to 200 bytes without control characters", pattern: "^[^\\u0000-\\u001f\\u007f]+$", upTo: 200
  ) { !$0.isEmpty && !hasControls($0) }

  /// An id, which is also the name of a folder.
  static let id = TextRule(
    "1 to 64 letters, digits, hyphens and underscores", pattern: "^[A-Za-z0-9_-]{1,64}$", upTo: 64
  ) { text in
    !text.isEmpty
      && text.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// A path of a file that is only read. It may lie outside the session's folder.
  static let path = TextRule(
    "a path of 1 to 4095 bytes without control characters",
    pattern: "^[^\\u0000-\\u001f\\u007f]+$", upTo: 4095
  ) { !$0.isEmpty && !hasControls($0) && $0.utf8.last != UInt8(ascii: "/") }

  /// A path inside the session's folder.
  static let pathInside = TextRule(
    "a path inside the session's folder, relative and without “..”", upTo: 1024
  ) { text in
    let parts = text.pathParts
    return !hasControls(text)
      && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.count <= 255 }
  }

  /// A path of a file or folder that the session writes. It is none of the session's own files, and
  /// not hidden.
  static let pathWritten = TextRule(
    "a path inside the session's folder, relative and without “..”, that is none of session.json, session.journal "
      + "and session.lock and has no part that begins with a dot",
    pattern: #"^(?!session\.(json|journal|lock))([^/.\u0000-\u001f\u007f][^/\u0000-\u001f\u007f]*)"#
      + #"(/[^/.\u0000-\u001f\u007f][^/\u0000-\u001f\u007f]*)*$"#, upTo: 1024
  ) { text in
    pathInside.allows(text) && !text.pathParts.contains { $0.beginsWithBytes(of: ".") }
      && !["session.json", "session.journal", "session.lock"].contains {
        text.beginsWithBytes(of: $0)
      }
  }

  /// A URI, such as a plugin's.
  static let uri = TextRule(
    "a URI with its scheme, such as urn:… or http://…",
    pattern: "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"]+$", upTo: 1024
  ) { text in
    guard let colon = text.firstIndex(of: ":"), text.first?.isLetter == true, text.last != ":"
    else { return false }
    return text[..<colon].utf8.allSatisfy { $0 < 0x80 }
      && !text.unicodeScalars.contains {
        $0.properties.isWhitespace || "<>\"".unicodeScalars.contains($0)
      } && !hasControls(text)
  }

  /// A plugin: its URI, the end of that, or its name.
  static let plugin = TextRule(
    "a plugin's URI, the end of that, or its name", pattern: "^[^\\u0000-\\u001f\\u007f]+$",
    upTo: 1024
  ) { !$0.isEmpty && !hasControls($0) }

  /// The symbol of a plugin's control, or the URI of a parameter.
  static let symbol = TextRule(
    "an LV2 symbol or the URI of a parameter", pattern: "^[^\\s]+$", upTo: 1024
  ) {
    !$0.isEmpty && !hasControls($0) && !$0.unicodeScalars.contains { $0.properties.isWhitespace }
  }

  /// The full name of a JACK port.
  static let port = TextRule(
    "a JACK port as CLIENT:PORT, of up to 320 bytes", pattern: "^[^:]+:.+$", upTo: 320
  ) { text in
    guard let colon = text.firstIndex(of: ":") else { return false }
    return colon != text.startIndex && text.index(after: colon) != text.endIndex
      && !hasControls(text)
  }

  /// A receiver on another machine.
  static let receiver = TextRule(
    SessionReceiver.form,
    pattern:
      #"^(rtp://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._][A-Za-z0-9._-]*):[0-9]{1,5}(@[A-Za-z0-9._][A-Za-z0-9._-]*)?$"#,
    upTo: 300
  ) { SessionReceiver($0) != nil }

  /// The path of a field of the session.
  static let target = TextRule(
    "the path of a number or switch, such as tracks[drums].gain",
    pattern:
      #"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|\[("([^"\\]|\\.)*"|[^\]"][^\]]*)\])*$"#,
    upTo: 1024
  ) { text in (try? SessionPath(text))?.isEmpty == false }

  /// A MIDI controller.
  static let controller = TextRule(
    "cc0 to cc119 or nrpn0 to nrpn16383, with @1 to @16 for one channel",
    pattern: "^(cc|nrpn)[0-9]{1,5}(@[0-9]{1,2})?$", upTo: 16
  ) { SessionController($0) != nil }

  /// A MIDI note that triggers.
  static let note = TextRule(
    "a MIDI note number from 0 to 127, with @1 to @16 for one channel",
    pattern: "^[0-9]{1,3}(@[0-9]{1,2})?$", upTo: 8
  ) { SessionMIDINumber($0) != nil }

  /// A MIDI program that recalls a scene.
  static let program = TextRule(
    "a MIDI program number from 0 to 127, with @1 to @16 for one channel",
    pattern: "^[0-9]{1,3}(@[0-9]{1,2})?$", upTo: 8
  ) { SessionMIDINumber($0) != nil }

  /// An instant on the wall clock.
  static let wallTime = TextRule(
    WallTime.form,
    pattern:
      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|TAI|[+-][0-9]{2}:[0-9]{2})$",
    upTo: 40
  ) { WallTime($0) != nil }

  /// An address of an OSC message.
  static let osc = TextRule(
    "an OSC address such as /start", pattern: "^/[^ #*,?\\[\\]{}]+$", upTo: 255
  ) { text in
    text.hasPrefix("/") && text.utf8.count > 1
      && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !" #*,?[]{}".utf8.contains($0) }
  }

  /// A sample format or codec.
  static let format = TextRule(
    "a format as in cuejack record --format, such as s24 or flac", pattern: "^[a-z0-9]{1,16}$",
    upTo: 16
  ) { text in
    !text.isEmpty
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
  }
}

extension SessionShape {
  static let decibels = SessionShape.number(-120...24, unit: "dB")
  /// The value of a plugin's parameter.
  static let parameter = SessionShape.number(-1e30...1e30, unit: "")
  /// The delay of an output.
  package static let delays = 0.0...2000
  static let delay = SessionShape.number(delays, unit: "milliseconds")
  static let seconds = SessionShape.number(0...1_000_000, unit: "seconds")
  /// Frames below 2^53, which JSON carries exactly everywhere.
  static let frame = SessionShape.integer(0...(1 << 53), unit: "frames")
  static let beat = SessionShape.number(0...1_000_000_000, unit: "beats")
  static let plugins = SessionShape.list(of: .record(SessionPlugin.shape), upTo: 64)
  static let ports = SessionShape.list(of: .text(.port), upTo: 256)
}

/// Returns the text of a number without `dB` at its end: `-6dB` and `-6 dB` mean -6.
package func withoutDecibels(_ text: String) -> String {
  guard text.lowercased().hasSuffix("db") else { return text }
  return String(text.dropLast(2).reversed().drop { $0 == " " }.reversed())
}

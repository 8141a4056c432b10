import Glibc
import System

/// The file that one of the library's plugins loads: its parameter in states.
package enum PluginFile {
  /// The plugins that have one.
  static let plugins: Set = [SoundFontPlugin.uri, ConvolverPlugin.uri]
  private static let float = "http://www.w3.org/2001/XMLSchema#float"

  /// Returns the text of a state of a plugin: the file with a path, none or the default one if that is nil, and the
  /// values of controls.
  package static func state(of uri: String, path: String?, controls: [String: Float] = [:])
    -> String
  {
    var text = """
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
      @prefix state: <http://lv2plug.in/ns/ext/state#> .
      <urn:cuejack:state> a pset:Preset ; lv2:appliesTo <\(uri)>
      """
    for (symbol, value) in controls.sorted(by: { $0.key < $1.key }) {
      text += " ;\n lv2:port [ lv2:symbol \"\(symbol)\" ; pset:value \"\(value)\"^^<\(float)> ]"
    }
    if let path { text += " ;\n state:state [ <\(uri)#file> <\(fileURL(absolute(path)))> ]" }
    return text + " .\n"
  }

  /// Returns the path of the file in the text of a state; nil if it has none.
  package static func path(inState text: String) -> String? {
    guard let found = text.firstMatch(of: #/#file>\s+<file://([^>]*)>/#) else { return nil }
    return decoded(String(found.1))
  }

  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    return "\(unsafe String(systemName: folder))/\(path)"
  }

  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      // serd writes two percent signs for one.
      if byte == UInt8(ascii: "%"), rest.first == byte {
        rest = rest.dropFirst()
        bytes.append(byte)
      } else if byte == UInt8(ascii: "%"), rest.count >= 2,
        let number = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(number)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(systemName: bytes)
  }
}

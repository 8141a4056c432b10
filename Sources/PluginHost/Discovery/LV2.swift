/// URIs of the LV2 vocabularies. Swift cannot read the macros in LV2's headers, which concatenate
/// strings.
enum LV2 {
  static func core(_ name: String) -> String { "http://lv2plug.in/ns/lv2core#" + name }
  static func atom(_ name: String) -> String { "http://lv2plug.in/ns/ext/atom#" + name }
  static func bufferSize(_ name: String) -> String { "http://lv2plug.in/ns/ext/buf-size#" + name }
  static func groups(_ name: String) -> String { "http://lv2plug.in/ns/ext/port-groups#" + name }
  static func log(_ name: String) -> String { "http://lv2plug.in/ns/ext/log#" + name }
  static func midi(_ name: String) -> String { "http://lv2plug.in/ns/ext/midi#" + name }
  static func options(_ name: String) -> String { "http://lv2plug.in/ns/ext/options#" + name }
  static func parameters(_ name: String) -> String { "http://lv2plug.in/ns/ext/parameters#" + name }
  static func patch(_ name: String) -> String { "http://lv2plug.in/ns/ext/patch#" + name }
  static func portProperties(_ name: String) -> String {
    "http://lv2plug.in/ns/ext/port-props#" + name
  }
  static func presets(_ name: String) -> String { "http://lv2plug.in/ns/ext/presets#" + name }
  static func resizePort(_ name: String) -> String {
    "http://lv2plug.in/ns/ext/resize-port#" + name
  }
  static func state(_ name: String) -> String { "http://lv2plug.in/ns/ext/state#" + name }
  static func time(_ name: String) -> String { "http://lv2plug.in/ns/ext/time#" + name }
  static func units(_ name: String) -> String { "http://lv2plug.in/ns/extensions/units#" + name }
  static func urid(_ name: String) -> String { "http://lv2plug.in/ns/ext/urid#" + name }
  static func worker(_ name: String) -> String { "http://lv2plug.in/ns/ext/worker#" + name }
  static let dynamicManifest = "http://lv2plug.in/ns/ext/dynmanifest#DynManifest"
  static let name = "http://usefulinc.com/ns/doap#name"
  static let license = "http://usefulinc.com/ns/doap#license"
  static let label = "http://www.w3.org/2000/01/rdf-schema#label"
  static let range = "http://www.w3.org/2000/01/rdf-schema#range"
  static let value = "http://www.w3.org/1999/02/22-rdf-syntax-ns#value"
  static let type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
}

import Glibc

/// A folder or preset from which any process can read a state.
enum StateOrigin: Codable {
  /// The folder of a saved state.
  case folder(String)
  /// URI of a preset.
  case preset(String)
}

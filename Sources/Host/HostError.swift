/// Why a plugin or a graph could not be made or changed.
package enum HostError: Error, Hashable, Sendable {
  /// No plugin with this URI is installed.
  case unknownPlugin(uri: String)
}

extension HostError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownPlugin(let uri): "no plugin <\(uri)> is installed (LV2_PATH tells where to look)"
    }
  }
}

package import Server

/// Reason why an audio unit refuses something.
package enum UnitError: Error, Sendable {
  case invalidProperty(UInt32)
  case invalidParameter(UInt32)
  case invalidElement(UInt32)
  case invalidScope(UInt32)
  case badArgument(String)
  case invalidValue(String)
  case formatNotSupported(String)
  case notWritable(String)
  case uninitialized
  case initialized
  case unsupported(String)
  case tooManyInstances
  case server(ServerError)
}

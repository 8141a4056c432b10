/// The reason why a device has lost its server's cycles. The device plays nothing until they are back.
package enum Loss: UInt8, Sendable {
  /// The server has gone: the device waits for another one of the same name.
  case serverGone = 1
  /// The server runs no cycles.
  case stalled
  /// The server has changed its sample rate.
  case rateChange
}

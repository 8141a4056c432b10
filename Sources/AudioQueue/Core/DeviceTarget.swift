import Server

/// A server, or the device of another queue.
enum DeviceTarget: Sendable {
  case server(any Server)
  case device(Device)

  /// Resolves a device UID: a server, on which a new client is created, or an open client of this
  /// process.
  init(uid: String) throws(QueueError) {
    if let device = Device.named(uid) {
      self = .device(device)
    } else if uid.hasPrefix("jack:"), !uid.contains("/"), uid.count > 5 {
      let server = JackServer(named: String(uid.dropFirst(5)))
      guard server.isRunning else { throw .invalidDevice(uid) }
      self = .server(server)
    } else {
      throw .invalidDevice(uid)
    }
  }

  /// The device UID that refers to this target.
  var uid: String {
    switch self {
    case .device(let device): device.uid
    case .server(let server): "jack:\((server as? JackServer)?.name ?? "default")"
    }
  }

  /// Returns the device, or opens one on the server.
  func open(_ options: QueueOptions) throws(ServerError) -> Device {
    switch self {
    case .device(let device): device
    case .server(let server): try Device(server, clientName: options.clientName)
    }
  }
}

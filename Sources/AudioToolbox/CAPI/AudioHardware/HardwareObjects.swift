import CAudioToolbox
import Hardware
import Server
import Synchronization
import System

/// An audio object.
enum HardwareObject {
  case system
  case device(DeviceObject)
  case stream(DeviceObject, isInput: Bool)
}

/// The audio objects of this process by number. A server keeps its numbers as long as the process lives,
/// also while it does not run. Any thread.
final class HardwareObjects: Sendable {
  static let shared = HardwareObjects()

  private let devices = Mutex<[HardwareDevice]>([])
  private static let firstDevice: AudioObjectID = 32
  private static let objectsOfDevice: AudioObjectID = 4

  /// Returns the object with a number; nil if there is none.
  func object(_ id: AudioObjectID) -> HardwareObject? {
    if id == kAudioObjectSystemObject { return .system }
    guard id >= Self.firstDevice else { return nil }
    let index = Int((id - Self.firstDevice) / Self.objectsOfDevice)
    guard let device = devices.withLock({ $0.indices.contains(index) ? $0[index] : nil }) else {
      return nil
    }
    let object = DeviceObject(
      device: device, id: Self.firstDevice + Self.objectsOfDevice * AudioObjectID(index))
    switch id - object.id {
    case 0: return .device(object)
    case 1: return .stream(object, isInput: true)
    case 2: return .stream(object, isInput: false)
    default: return nil
    }
  }

  /// Returns the device of a number, which may be that of one of its streams.
  func device(_ id: AudioObjectID) throws(HardwareError) -> DeviceObject {
    switch object(id) {
    case .device(let device), .stream(let device, _): return device
    case .system, nil: throw .noSuchDevice(id)
    }
  }

  /// Returns the device of a server, which need not run.
  func device(ofServer name: String) -> DeviceObject {
    let (device, index, isNew) = devices.withLock { devices in
      if let index = devices.firstIndex(where: { $0.serverName == name }) {
        return (devices[index], index, false)
      }
      let standard = JackServer()
      let server = name == standard.name ? standard : JackServer(named: name)
      let device = HardwareDevice(server, named: name, clientName: clientName)
      devices.append(device)
      return (device, devices.count - 1, true)
    }
    let object = DeviceObject(
      device: device, id: Self.firstDevice + Self.objectsOfDevice * AudioObjectID(index))
    if isNew {
      device.addObserver { [id = object.id] in HardwareListeners.shared.tell($0, of: id) }
    }
    return object
  }

  /// The devices that can be reached and asked, the default one first.
  var reachable: [DeviceObject] {
    ServerDirectory.names.map { device(ofServer: $0) }.filter(\.device.canBeAsked)
  }

  /// Name of the server that queues use unless they name another one.
  static var standardName: String { JackServer().name }

  /// The default device; nil if its server neither runs nor can be started.
  var standard: DeviceObject? {
    JackServer().isReachable ? device(ofServer: Self.standardName) : nil
  }

  /// Returns the device of a UID: that of a server, or of a client of this process.
  func device(named uid: String) -> DeviceObject? {
    guard uid.hasPrefix("jack:") else { return nil }
    let server = String(uid.dropFirst(5).prefix { $0 != "/" })
    return reachable.first { $0.device.serverName == server }
  }

  /// All devices that anybody has asked for.
  var known: [DeviceObject] {
    devices.withLock { $0.map(\.serverName) }.map { device(ofServer: $0) }
  }
}

import CAudioToolbox
import Hardware

/// A device with the numbers of its objects.
struct DeviceObject {
  let device: HardwareDevice
  let id: AudioObjectID
  var inputStream: AudioObjectID { id + 1 }
  var outputStream: AudioObjectID { id + 2 }
  var uid: String { "jack:\(device.serverName)" }
  /// True for the server that queues use unless they name another one.
  var isDefault: Bool { device.serverName == HardwareObjects.standardName }
}

import CRealTime
import RealTime

/// A unit whose output is its input: the converter, and the output that belongs to no device.
final class PassUnit: Unit, @unchecked Sendable {
  init(_ kind: UnitKind) throws(UnitError) {
    let format = try Self.standardFormat
    unsafe super.init(kind.name, inputs: [format], outputs: [format], Self.makeRender())
  }

  override var hasQuality: Bool { true }

  override func kernel(inputs: Int) -> Kernel {
    unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runPass($0, $1) }, context: UnsafeMutableRawPointer(render)), owner: nil)
  }
}

extension Unit {
  /// Allocates a unit as renders see it.
  static func makeRender(
    _ device: UnsafeMutablePointer<DeviceUnit>? = nil,
    foreign: UnsafeMutablePointer<cue_foreign>? = nil
  ) -> UnsafeMutablePointer<RenderUnit> {
    let render = UnsafeMutablePointer<RenderUnit>.allocate(capacity: 1)
    unsafe render.initialize(to: RenderUnit(device: device, foreign: foreign))
    return unsafe render
  }

  /// The format that buses have at first: stereo at 44,100 Hz.
  static var standardFormat: BusFormat {
    get throws(UnitError) {
      guard let format = BusFormat.planar(channels: 2, sampleRate: 44_100) else {
        throw .formatNotSupported("stereo floats")
      }
      return format
    }
  }
}

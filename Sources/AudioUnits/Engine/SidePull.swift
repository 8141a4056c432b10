import CRealTime
import RealTime

/// Units whose sound goes nowhere, and which a device renders so that their taps hear it.
@safe
package final class SidePull: @unchecked Sendable {
  private let units: [Unit]
  private let renders: UnsafeMutablePointer<UnsafeMutablePointer<RenderUnit>>
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private static var mostChannels: Int { 256 }

  package init(_ units: [Unit]) {
    self.units = units
    unsafe renders = .allocate(capacity: max(1, units.count))
    for (i, unit) in units.enumerated() { unsafe (renders + i).initialize(to: unit.render) }
    unsafe list = BufferMemory.allocateList(buffers: Self.mostChannels)
  }

  deinit {
    unsafe renders.deallocate()
    unsafe list.deallocate()
  }

  fileprivate static let proc: cue_render_proc = { data, _, time, _, frames, _ in
    guard let data = unsafe data else { return RenderError.badArgument }
    return unsafe Unmanaged<SidePull>.fromOpaque(data)._withUnsafeGuaranteedRef { pull in
      unsafe pull.run(time, frames)
    }
  }

  private func run(_ time: UnsafePointer<cue_time_stamp>, _ frames: UInt32) -> Int32 {
    let buffers = unsafe cue_rt_buffers(list)
    for i in units.indices {
      // The units give their own memory.
      unsafe list.pointee.count = UInt32(Self.mostChannels)
      for channel in 0..<Self.mostChannels { unsafe buffers[channel].data = nil }
      var flags: UInt32 = 0
      _ = unsafe renders[i].pointee.render(&flags, time, bus: 0, frames: Int(frames), list)
    }
    return 0
  }
}

extension OutputUnit {
  /// Sets the units that the device renders besides the output; nil for none. It renders the old ones no more
  /// afterwards.
  package func setSidePull(_ pull: SidePull?) {
    guard let pull else { return unsafe setInputProc(nil, nil) }
    unsafe setInputProc(SidePull.proc, Unmanaged.passUnretained(pull).toOpaque())
  }

  /// Connects an input of a unit to what the device records. This unit outlives that one.
  package func supply(_ unit: Unit, bus: UInt32) throws(UnitError) {
    try unsafe unit.setCallback(Self.captured, UnsafeMutableRawPointer(render), bus)
  }

  private static let captured: cue_render_proc = { data, flags, time, _, frames, list in
    guard let data = unsafe data, let list = unsafe list else { return RenderError.badArgument }
    return unsafe data.assumingMemoryBound(to: RenderUnit.self).pointee.render(
      flags, time, bus: 1, frames: Int(frames), list)
  }
}

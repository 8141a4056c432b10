package import CRealTime
import RealTime

/// Units whose sound goes nowhere, or to a function: a device renders them besides its output.
@safe
package final class SidePull: @unchecked Sendable {
  /// A unit to render.
  @safe
  package struct Item: @unchecked Sendable {
    let unit: Unit
    fileprivate let function: cue_render_proc?
    fileprivate let data: UnsafeMutableRawPointer?
    private let owner: AnyObject?

    /// - Parameters:
    ///   - function: Gets each render, in the cycle; nil if the unit's taps hear it.
    ///   - data: The first argument of the function.
    ///   - owner: Keeps what it points to.
    package init(
      _ unit: Unit, _ function: cue_render_proc? = nil, _ data: UnsafeMutableRawPointer? = nil,
      keeping owner: AnyObject? = nil
    ) {
      self.unit = unit
      self.owner = owner
      unsafe self.function = function
      unsafe self.data = data
    }
  }

  private let items: [Item]
  private let renders: UnsafeMutablePointer<(render: UnsafeMutablePointer<RenderUnit>, item: Item)>
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private static var mostChannels: Int { 256 }

  package init(_ items: [Item]) {
    self.items = items
    unsafe renders = .allocate(capacity: max(1, items.count))
    for (i, item) in items.enumerated() {
      unsafe (renders + i).initialize(to: (item.unit.render, item))
    }
    unsafe list = BufferMemory.allocateList(buffers: Self.mostChannels)
  }

  deinit {
    unsafe renders.deinitialize(count: items.count)
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
    for i in items.indices {
      // The units give their own memory.
      unsafe list.pointee.count = UInt32(Self.mostChannels)
      for channel in 0..<Self.mostChannels { unsafe buffers[channel].data = nil }
      var flags: UInt32 = 0
      let status = unsafe renders[i].render.pointee.render(
        &flags, time, bus: 0, frames: Int(frames), list)
      guard status == 0, let function = unsafe renders[i].item.function else { continue }
      var count = 0
      while unsafe count < Self.mostChannels && buffers[count].data != nil { count += 1 }
      unsafe list.pointee.count = UInt32(count)
      _ = unsafe function(renders[i].item.data, &flags, time, 0, frames, list)
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

public import CPlugin

/// A plugin instance. The host never makes two calls at once.
@safe
private struct Instance: ~Copyable {
  private let layout: Layout
  private var effect: Bundle
  private var controls = Controls()
  private var inputs = unsafe InlineArray<2, UnsafeMutablePointer<Float>?>(repeating: nil)
  private var outputs = unsafe InlineArray<2, UnsafeMutablePointer<Float>?>(repeating: nil)
  private var block = Block()
  /// Frames since the last call of `settle`.
  private var position = 0
  /// The wet gain: 1 if enabled, 0 if bypassed.
  private var fade = Ramp(1)
  /// Length in frames of a ramp after a control change.
  private let fadeFrames: Int
  /// Whether no frame has run yet. The first frame takes the controls' values without a ramp.
  private var isFresh = true

  /// Returns nil if there is no memory or the sample rate is invalid.
  init?(_ layout: Layout, rate: Double) {
    guard rate > 0, rate < 1e7, let effect = Bundle(rate: rate) else { return nil }
    self.layout = layout
    self.effect = effect
    fadeFrames = Int(max(1, rate * 0.02))
  }

  func release() { effect.release() }

  mutating func connect(_ port: Int, to memory: UnsafeMutablePointer<Float>?) {
    let ends = layout.inputs + layout.outputs
    if port < layout.inputs {
      unsafe inputs[port] = memory
    } else if port < ends {
      unsafe outputs[port - layout.inputs] = memory
    } else if port - ends < Controls.capacity {
      unsafe controls.connect(port - ends, to: memory)
    }
  }

  mutating func activate() {
    effect.reset()
    position = 0
    isFresh = true
  }

  mutating func run(_ frames: Int) {
    if controls.read(Bundle.controlInputs) || isFresh {
      let ramp = isFresh ? 0 : fadeFrames
      fade.aim(at: controls.isOn(0, else: true) ? 1 : 0, in: ramp)
      effect.update(&controls, in: ramp)
    }
    if frames > 0 { isFresh = false }
    var done = 0
    while done < frames {
      block.count = min(frames - done, Block.capacity - position)
      load(from: done)
      effect.process(&block)
      if Bundle.changesSound { block.mix(&fade) }
      store(from: done)
      done += block.count
      position += block.count
      if position == Block.capacity {
        effect.settle()
        position = 0
      }
    }
    effect.report(&controls)
  }

  /// Reads all inputs before any output is written: a host may connect one buffer to several ports.
  private mutating func load(from first: Int) {
    let last = layout.inputs - 1
    for i in 0..<block.count {
      let frame = unsafe SIMD2(inputs[0]?[first + i] ?? 0, inputs[last]?[first + i] ?? 0)
      block.frames[i] = frame
      block.wet[i] = SIMD2<Double>(frame)
    }
  }

  private mutating func store(from first: Int) {
    for i in 0..<block.count { unsafe outputs[0]?[first + i] = block.frames[i].x }
    guard layout.outputs > 1 else { return }
    for i in 0..<block.count { unsafe outputs[1]?[first + i] = block.frames[i].y }
  }
}

/// Runs the plugin. Because this is the only entry, the compiler proves that no code behind it locks or
/// allocates.
@_noLocks
private func run(_ instance: UnsafeMutablePointer<Instance>, _ frames: UInt32) {
  unsafe instance.pointee.run(Int(frames))
}

private func make(_ layout: Layout, _ rate: Double) -> UnsafeMutableRawPointer? {
  let stride = MemoryLayout<Instance>.stride
  guard let instance = Instance(layout, rate: rate) else { return nil }
  guard let memory = unsafe aligned_alloc(64, (stride + 63) / 64 * 64) else {
    instance.release()
    return nil
  }
  unsafe memory.initializeMemory(as: Instance.self, to: instance)
  return unsafe memory
}

private func instance(_ handle: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Instance> {
  unsafe handle.unsafelyUnwrapped.assumingMemoryBound(to: Instance.self)
}

private func descriptor(
  _ uri: StaticString,
  _ instantiate:
    @escaping @convention(c) (
      UnsafePointer<LV2_Descriptor>?, Double, UnsafePointer<CChar>?,
      UnsafePointer<UnsafePointer<LV2_Feature>?>?
    ) -> LV2_Handle?
) -> LV2_Descriptor {
  unsafe LV2_Descriptor(
    URI: UnsafeRawPointer(uri.utf8Start).assumingMemoryBound(to: CChar.self),
    instantiate: instantiate,
    connect_port: {
      unsafe instance($0).pointee.connect(Int($1), to: $2?.assumingMemoryBound(to: Float.self))
    },
    activate: { unsafe instance($0).pointee.activate() },
    run: { unsafe run(instance($0), $1) },
    deactivate: nil,
    cleanup: {
      unsafe instance($0).pointee.release()
      unsafe free($0)
    },
    extension_data: nil)
}

// Constants, initialised at compile time: no code runs when the library is loaded.
nonisolated(unsafe) private var stereo = unsafe descriptor(Bundle.layouts.0.uri) { _, rate, _, _ in
  unsafe make(Bundle.layouts.0, rate)
}
nonisolated(unsafe) private var mono = unsafe descriptor(Bundle.layouts.1.uri) { _, rate, _, _ in
  unsafe make(Bundle.layouts.1, rate)
}

/// Returns the library's plugins by index. The host calls it on any thread.
@c @implementation
public func lv2_descriptor(_ index: UInt32) -> UnsafePointer<LV2_Descriptor>? {
  switch index {
  case 0: unsafe withUnsafePointer(to: &stereo) { unsafe $0 }
  case 1: unsafe withUnsafePointer(to: &mono) { unsafe $0 }
  default: nil
  }
}

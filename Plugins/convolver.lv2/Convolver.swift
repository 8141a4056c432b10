import CConvolver
import CFile
import CPlugin

/// A convolution of two channels with an impulse response, for rooms and the correction of speakers.
@safe
struct Convolver: FilePlugin, ~Copyable {
  static var uri: StaticString { "urn:cuejack:plugins:convolver" }
  static var rates: ClosedRange<Double> { 8000...384_000 }
  /// Ports before the controls: two inputs, two outputs and two for events.
  private static var otherPorts: Int { 6 }
  private static var controlInputs: Int { 6 }

  private(set) var file: PluginFile
  private var controls = Controls()
  private var inputs = unsafe InlineArray<2, UnsafePointer<Float>?>(repeating: nil)
  private var outputs = unsafe InlineArray<2, UnsafeMutablePointer<Float>?>(repeating: nil)
  private var events: UnsafePointer<LV2_Atom_Sequence>?

  /// The present response, and the one before it while that fades out; nil for none.
  private var response: OpaquePointer?
  private var previous: OpaquePointer?
  /// The share of the present response in a crossfade.
  private var turn = Ramp(1)
  /// Whether the response of the state was loaded, or could not be.
  private var hasLoaded = false
  /// The settings of the last load.
  private var loaded = cue_settings()
  private var enabled = Ramp(1)
  private var dry = Ramp(0)
  private var wet = Ramp(1)
  /// Whether no frame has run yet. The first frame takes the controls' values without a ramp.
  private var isFresh = true
  /// Frames of a ramp after a change of a control, and of a crossfade of responses.
  private let rampFrames: Int
  private let fadeFrames: Int

  private var left = InlineArray<64, Float>(repeating: 0)
  private var right = InlineArray<64, Float>(repeating: 0)
  private var oldLeft = InlineArray<64, Float>(repeating: 0)
  private var oldRight = InlineArray<64, Float>(repeating: 0)

  init?(
    rate: Double, map: UnsafeMutablePointer<LV2_URID_Map>,
    schedule: UnsafePointer<LV2_Worker_Schedule>?, log: UnsafeMutablePointer<LV2_Log_Log>?
  ) {
    guard
      let file = unsafe PluginFile(
        "urn:cuejack:plugins:convolver#file", rate: rate, map: map, schedule: schedule, log: log)
    else { return nil }
    self.file = file
    rampFrames = Int(max(1, rate * 0.02))
    fadeFrames = Int(max(1, rate * 0.1))
  }

  func release() {
    unsafe cue_convolver_free(response)
    unsafe cue_convolver_free(previous)
    file.release()
  }

  mutating func connect(_ port: Int, to memory: UnsafeMutableRawPointer?) {
    let samples = unsafe memory?.assumingMemoryBound(to: Float.self)
    switch port {
    case 0, 1: unsafe inputs[port] = samples.map { unsafe UnsafePointer($0) }
    case 2, 3: unsafe outputs[port - 2] = samples
    case 4:
      unsafe events = memory.map {
        unsafe UnsafePointer($0.assumingMemoryBound(to: LV2_Atom_Sequence.self))
      }
    case 5: unsafe file.connect(notify: memory)
    case Self.otherPorts..<Self.otherPorts + Controls.capacity:
      unsafe controls.connect(port - Self.otherPorts, to: samples)
    default: break
    }
  }

  // MARK: Responses

  /// Milliseconds that are left out at the beginning of a response, and those before it.
  private var settings: cue_settings {
    mutating get {
      cue_settings(
        first: Float(controls.value(4, from: 0, to: 1000, else: 0)),
        second: Float(controls.value(5, from: 0, to: 1000, else: 0)))
    }
  }

  /// Loads the response of the state, if none is loaded, and forgets all frames.
  mutating func activate() {
    if let response = unsafe response {
      unsafe cue_convolver_reset(response)
    } else if !hasLoaded {
      load()
    }
    start()
  }

  mutating func restore(_ path: UnsafePointer<CChar>) {
    unsafe cue_mailbox_want(file.mailbox, path)
    unsafe cue_convolver_free(response)
    unsafe response = nil
    load()
    start()
  }

  private mutating func load() {
    hasLoaded = true
    _ = controls.read(Self.controlInputs)
    loaded = settings
    unsafe response = unsafe file.load(else: nil, loaded).map { OpaquePointer($0) }
  }

  private mutating func start() {
    unsafe cue_convolver_free(previous)
    unsafe previous = nil
    turn = Ramp(1)
    isFresh = true
  }

  /// Lets the worker free the old response, and load the present one anew if its settings have changed since the first
  /// frame.
  private mutating func askWorker() {
    file.askWorker()
    let wanted = settings
    guard let response = unsafe response, file.canLoad, !isFresh,
      loaded.first != wanted.first || loaded.second != wanted.second
    else { return }
    if unsafe file.request(cue_rt_path_of(response), wanted) { loaded = wanted }
  }

  /// Begins the crossfade to the response that the worker has loaded, once the last crossfade is over. Before the first
  /// frame there is nothing to fade.
  private mutating func exchange() {
    guard unsafe previous == nil, let incoming = unsafe file.takeIncoming() else { return }
    if isFresh {
      unsafe file.retire(response.map { unsafe UnsafeMutableRawPointer($0) })
    } else {
      unsafe previous = unsafe response
      turn = Ramp(0)
      turn.aim(at: 1, in: fadeFrames)
    }
    unsafe response = OpaquePointer(incoming)
  }

  // MARK: Cycles

  private mutating func update(in frames: Int) {
    enabled.aim(at: controls.isOn(0, else: true) ? 1 : 0, in: frames)
    let gain = cue_rt_amplitude(controls.value(1, from: -80, to: 40, else: 0))
    func factor(_ decibels: Double) -> Double {
      decibels > -80 ? cue_rt_amplitude(decibels) * gain : 0
    }
    wet.aim(at: factor(controls.value(2, from: -80, to: 40, else: 0)), in: frames)
    dry.aim(at: factor(controls.value(3, from: -80, to: 40, else: -80)), in: frames)
  }

  mutating func run(_ frames: Int) {
    if controls.read(Self.controlInputs) || isFresh { update(in: isFresh ? 0 : rampFrames) }
    askWorker()
    exchange()
    if frames > 0 { isFresh = false }
    var isAsked = false
    if let events = unsafe events {
      var next = unsafe cue_rt_next(events, nil)
      while let event = unsafe next {
        if let path = unsafe file.path(in: event) {
          if unsafe file.request(path, settings) { loaded = settings }
        } else if unsafe file.asks(event) {
          isAsked = true
        }
        unsafe next = unsafe cue_rt_next(events, event)
      }
    }
    var done = 0
    while done < frames {
      let count = min(64, frames - done)
      render(done, count)
      done += count
    }
    if turn.value == 1, let old = unsafe previous {
      unsafe file.retire(UnsafeMutableRawPointer(old))
      unsafe previous = nil
    }
    unsafe file.answer(isAsked ? response.flatMap { unsafe cue_rt_path_of($0) } : nil)
    controls.write(Double(file.status), to: Self.controlInputs)
  }

  /// Renders frames from number `first` on.
  private mutating func render(_ first: Int, _ count: Int) {
    guard let inLeft = unsafe inputs[0], let inRight = unsafe inputs[1],
      let outLeft = unsafe outputs[0], let outRight = unsafe outputs[1]
    else { return }
    let (fromLeft, fromRight) = unsafe (inLeft + first, inRight + first)
    if let response = unsafe response {
      unsafe cue_rt_convolve(response, fromLeft, fromRight, &left, &right, Int32(count))
    }
    if let previous = unsafe previous {
      unsafe cue_rt_convolve(previous, fromLeft, fromRight, &oldLeft, &oldRight, Int32(count))
    }
    for i in 0..<count {
      let input = unsafe SIMD2<Double>(SIMD2(fromLeft[i], fromRight[i]))
      // Without a response the input passes.
      var output = input
      let share = turn.next()
      let (wetGain, dryGain, on) = (wet.next(), dry.next(), enabled.next())
      if unsafe response != nil {
        var sound = SIMD2<Double>(SIMD2(left[i], right[i])) * wetGain
        if share < 1, unsafe previous != nil {
          let old = SIMD2<Double>(SIMD2(oldLeft[i], oldRight[i])) * wetGain
          sound = sound * share + old * (1 - share)
        }
        if dryGain > 0 { sound += input * dryGain }
        if share < 1, unsafe previous == nil { sound = sound * share + input * (1 - share) }
        output = on == 1 ? sound : sound * on + input * (1 - on)
      }
      let samples = SIMD2<Float>(audible(output))
      unsafe outLeft[first + i] = samples.x
      unsafe outRight[first + i] = samples.y
    }
  }
}

typealias Bundle = Convolver

import AudioToolbox
package import AudioUnits
import CRealTime
import Codecs
public import Foundation
import RealTime
import Synchronization
import Timeline

/// A function that gets what a bus has rendered, and the time of the first frame, on a thread of the library.
public typealias AVAudioNodeTapBlock = (AVAudioPCMBuffer, AVAudioTime) -> Void

/// A node of an engine. Any thread that is not real-time.
open class AVAudioNode: NSObject, @unchecked Sendable {
  /// The unit that renders the node.
  package let unit: AudioUnits.Unit

  private struct State {
    weak var engine: AVAudioEngine?
    /// True until the engine has let go of the node, also while that is released.
    var isHeld = false
    var inputFormats: [AVAudioNodeBus: AVAudioFormat] = [:]
    var outputFormat: AVAudioFormat?
    var taps: [AVAudioNodeBus: NodeTap] = [:]
  }
  private let state = Mutex(State())

  init(unit: AudioUnits.Unit) { self.unit = unit }

  deinit {
    for tap in state.withLock({ $0.taps.values.map(\.tap) }) { tap.remove() }
    unit.disposeWithReference()
  }

  /// Makes a unit of the library. Only a lack of memory can make that fail.
  static func make<Made: AudioUnits.Unit>(_ body: () throws -> Made) -> Made {
    do { return try body() } catch { refuse("a node cannot be made: \(error)") }
  }

  /// Returns the unit that takes what is connected to an input, and the number of that unit's input.
  func inlet(_ bus: AVAudioNodeBus) -> (unit: AudioUnits.Unit, bus: UInt32) { (unit, UInt32(bus)) }

  /// Sets the frames of the longest render, and whether renders may take any time.
  func prepare(for setup: ManualRenderer.Setup) {
    try? unit.setMaximumFrames(Int(setup.maximumFrames))
  }

  /// Prepares the node to render.
  func initialize() throws { try unit.initialize() }

  // MARK: The engine

  /// The engine to which the node is attached.
  public var engine: AVAudioEngine? { state.withLock { $0.engine } }

  /// Called when the node was attached to an engine, or detached (nil).
  func moved(to engine: AVAudioEngine?) {
    state.withLock { ($0.engine, $0.isHeld) = (engine, engine != nil) }
    if engine == nil { endTaps() }
  }

  /// Waits until an engine that is being released has let go of the node.
  func awaitRelease() {
    while state.withLock({ $0.isHeld && $0.engine == nil }) { usleep(200) }
  }

  /// Returns the engine. Ends the program if the node is attached to none.
  func attachedEngine(for call: String) -> AVAudioEngine {
    guard let engine else { refuse("\(call): \(self) must be attached to an engine first") }
    return engine
  }

  // MARK: Buses

  /// The number of inputs.
  open var numberOfInputs: Int { unit.busCount(.input) }
  /// The number of outputs.
  open var numberOfOutputs: Int { unit.busCount(.output) }

  /// Returns the name of an input; nil if it has none.
  open func name(forInputBus bus: AVAudioNodeBus) -> String? {
    numberOfInputs > bus && bus >= 0 ? "\(type(of: self)) input \(bus)" : nil
  }

  /// Returns the name of an output; nil if it has none.
  open func name(forOutputBus bus: AVAudioNodeBus) -> String? {
    numberOfOutputs > bus && bus >= 0 ? "\(type(of: self)) output \(bus)" : nil
  }

  /// Returns the format that an input takes.
  open func inputFormat(forBus bus: AVAudioNodeBus) -> AVAudioFormat {
    guard bus >= 0, bus < numberOfInputs else {
      refuse("AVAudioNode.inputFormat: \(self) has no input \(bus)")
    }
    return state.withLock { $0.inputFormats[bus] } ?? standardFormat
  }

  /// Returns the format that an output gives.
  open func outputFormat(forBus bus: AVAudioNodeBus) -> AVAudioFormat {
    guard bus >= 0, bus < numberOfOutputs else {
      refuse("AVAudioNode.outputFormat: \(self) has no output \(bus)")
    }
    return state.withLock { $0.outputFormat } ?? standardFormat
  }

  /// The format of a bus that was never connected: that of the sound card, if there is one.
  var standardFormat: AVAudioFormat { .fallback }

  /// Gives an input a format, as the connection to it has.
  func setInput(_ format: AVAudioFormat, bus: AVAudioNodeBus) {
    let inlet = inlet(bus)
    apply(format, "input \(bus)") { try inlet.unit.setFormat($0, .input, inlet.bus) }
    state.withLock { $0.inputFormats[bus] = format }
  }

  /// Gives the output a format, as the connection from it has.
  func setOutput(_ format: AVAudioFormat) {
    apply(format, "output 0") { try applyOutput($0) }
    state.withLock { $0.outputFormat = format }
    renewTaps()
  }

  func applyOutput(_ format: BusFormat) throws { try unit.setFormat(format, .output, 0) }

  private func apply(_ format: AVAudioFormat, _ bus: String, _ body: (BusFormat) throws -> Void) {
    guard let converted = format.bus else {
      refuse("AVAudioEngine.connect: \(bus) of \(self) cannot have the format \(format)")
    }
    do { try body(converted) } catch {
      refuse("AVAudioEngine.connect: \(bus) of \(self) cannot have the format \(format): \(error)")
    }
  }

  // MARK: Times

  /// The time of the node's latest render; nil while the engine does not run, or if the node reaches neither
  /// the output nor an input of the engine.
  public var lastRenderTime: AVAudioTime? {
    guard let engine, engine.isRunning, engine.reaches(self),
      let time = unsafe unit.render.pointee.latestTime
    else { return nil }
    let rate = renderRate
    switch (time.sampleTime, time.hostTime) {
    case (let sample?, let host?):
      return AVAudioTime(
        hostTime: host, sampleTime: AVAudioFramePosition(sample), atRate: rate)
    case (let sample?, nil):
      return AVAudioTime(sampleTime: AVAudioFramePosition(sample), atRate: rate)
    case (nil, let host?): return AVAudioTime(hostTime: host)
    case (nil, nil): return nil
    }
  }

  /// Frames per second of the node's renders.
  var renderRate: Double { (try? unit.bus(.output, 0).format.sampleRate) ?? 0 }

  /// Seconds from the node's input to its output.
  public var latency: TimeInterval { unit.latencySeconds }

  /// Seconds from the node's output to the moment when it is heard.
  public var outputPresentationLatency: TimeInterval { engine?.latency(behind: self) ?? 0 }

  /// Forgets earlier sound: of filters and converters, and what a player was given.
  open func reset() { unit.forget() }

  // MARK: Taps

  /// A tap, and what is needed to make another one for another format.
  private struct NodeTap {
    let size: AVAudioFrameCount
    let block: SharedBlock<AVAudioNodeTapBlock>
    let tap: OutputTap
  }

  /// Gives a function all that an output renders, in buffers of `bufferSize` frames; a number below 64 is
  /// taken for 64. One that takes longer than a second loses sound, which the log tells. The node keeps
  /// the tap until `removeTap`. Ends the program if the output has a tap.
  ///
  /// The format is for an output that is connected to nothing. One that is connected has that of its connection.
  public func installTap(
    onBus bus: AVAudioNodeBus, bufferSize: AVAudioFrameCount, format: AVAudioFormat?,
    block tapBlock: @escaping AVAudioNodeTapBlock
  ) {
    let engine = attachedEngine(for: "AVAudioNode.installTap")
    guard bus >= 0, bus < numberOfOutputs else {
      refuse("AVAudioNode.installTap: \(self) has no output \(bus)")
    }
    engine.edit {
      if state.withLock({ $0.taps[bus] != nil }) {
        refuse("AVAudioNode.installTap: output \(bus) of \(self) has a tap")
      }
      if let format, format.bus != nil,
        engine.outputConnectionPoints(for: self, outputBus: bus).isEmpty
      {
        setOutput(format)
      }
      let size = min(max(bufferSize, 64), 1 << 20)
      install(size, SharedBlock(tapBlock), bus, engine)
    }
  }

  private func install(
    _ size: AVAudioFrameCount, _ block: SharedBlock<AVAudioNodeTapBlock>, _ bus: AVAudioNodeBus,
    _ engine: AVAudioEngine
  ) {
    let known = outputFormat(forBus: bus)
    let format = known.channelCount == 0 ? .fallback : known
    let rate = format.sampleRate
    let thread = engine.threads.taps
    let tap = OutputTap(
      channels: Int(format.channelCount), sampleRate: rate, size: Int(size),
      frames: unit.maximumFrames, on: thread
    ) { piece in
      guard let buffer = AVAudioPCMBuffer(piece, format) else { return }
      let sample = AVAudioFramePosition(held: piece.sampleTime)
      let time =
        piece.hostTime.map { AVAudioTime(hostTime: $0, sampleTime: sample, atRate: rate) }
        ?? AVAudioTime(sampleTime: sample, atRate: rate)
      block.value(buffer, time)
    }
    state.withLock { $0.taps[bus] = NodeTap(size: size, block: block, tap: tap) }
    thread.add(tap)
    try? unit.setTap(tap, onOutput: UInt32(bus))
    engine.updateSidePull()
  }

  /// Ends a tap, and waits until its function has returned, unless this is called inside that. What was
  /// rendered and has not been handed over is dropped.
  public func removeTap(onBus bus: AVAudioNodeBus) {
    takeTap(bus)?.remove()
  }

  /// Takes the tap from an output; nil if there is none.
  private func takeTap(_ bus: AVAudioNodeBus) -> OutputTap? {
    guard bus >= 0, bus < numberOfOutputs,
      let old = state.withLock({ $0.taps.removeValue(forKey: bus) })
    else { return nil }
    try? unit.setTap(nil, onOutput: UInt32(bus))
    return old.tap
  }

  var hasTaps: Bool { state.withLock { !$0.taps.isEmpty } }

  /// Ends all taps, whose functions may be running still: the engine may be locked.
  func endTaps() {
    for bus in state.withLock({ Array($0.taps.keys) }) { takeTap(bus)?.end() }
  }

  /// Makes the taps anew after the format has changed.
  func renewTaps() {
    guard let engine else { return }
    for (bus, old) in state.withLock({ $0.taps }) {
      takeTap(bus)?.end()
      install(old.size, old.block, bus, engine)
    }
  }

  /// Waits until the taps have room for a render that no device waits for.
  func awaitTaps() {
    for tap in state.withLock({ $0.taps.values.map(\.tap) }) { tap.awaitRoom() }
  }
}

/// A function of the app that other threads of the library call, though its type does not say so.
struct SharedBlock<Block>: @unchecked Sendable {
  let value: Block
  init(_ value: Block) { self.value = value }
}

extension AVAudioFormat {
  /// The format of the buses of units; nil if they cannot have it.
  var bus: BusFormat? {
    guard let format, case .pcm(let pcm) = format.stream else { return nil }
    return BusFormat(pcm, isInterleaved: isInterleaved, fractionBits: format.fractionBits)
  }

  /// The format of what has no other: stereo at 44,100 Hz.
  static let fallback = AVAudioFormat(
    standardFormatWithSampleRate: 44_100,
    channelLayout: AVAudioChannelLayout(ChannelLayout(channels: 2)))

  /// Creates the standard format with any number of channels; nil if there is none such.
  convenience init?(rate: Double, channels: Int) {
    guard channels > 2 else {
      self.init(
        standardFormatWithSampleRate: rate, channels: AVAudioChannelCount(clamping: channels))
      return
    }
    guard channels <= 0xFFFF,
      let layout = AVAudioChannelLayout(
        layoutTag: kAudioChannelLayoutTag_DiscreteInOrder | UInt32(channels)),
      BusFormat.planar(channels: channels, sampleRate: rate) != nil
    else { return nil }
    self.init(standardFormatWithSampleRate: rate, channelLayout: layout)
  }
}

extension AVAudioPCMBuffer {
  /// Creates a buffer of what a tap has heard.
  convenience init?(_ piece: TapPiece, _ format: AVAudioFormat) {
    let frames = piece.channels[0].count
    guard let bus = format.bus, bus.channels == piece.channels.count else { return nil }
    self.init(pcmFormat: format, frameCapacity: AVAudioFrameCount(frames))
    frameLength = AVAudioFrameCount(frames)
    let planes = Planes(channels: bus.channels, capacity: frames)
    for (channel, samples) in piece.channels.enumerated() {
      unsafe planes.pointers()[channel].update(from: samples, count: frames)
    }
    unsafe bus.write(planes.pointers(), frames: frames, to: unitSamples)
  }

  /// The valid samples as units see them.
  var unitSamples: UnsafeMutablePointer<cue_buffer_list> {
    unsafe UnsafeMutableRawPointer(mutating: audioBufferList)
      .assumingMemoryBound(to: cue_buffer_list.self)
  }
}

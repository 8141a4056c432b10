package import AudioUnits
import Foundation
import Logging
import RealTime
import System
import Timeline

/// Options of a buffer that is scheduled.
public struct AVAudioPlayerNodeBufferOptions: OptionSet, Sendable {
  /// The bits of the options.
  public let rawValue: UInt
  /// Creates options from bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// The buffer is repeated until another one interrupts it, or the player stops. Its handler is called once then.
  public static let loops = Self(rawValue: 1 << 0)
  /// The buffer ends the buffers and files before it when it begins.
  public static let interrupts = Self(rawValue: 1 << 1)
  /// The buffer begins at the end of the buffer or file that plays, of a loop at the end of its samples, but not before
  /// its own moment.
  public static let interruptsAtLoop = Self(rawValue: 1 << 2)
}

/// The moment when a handler is called.
public enum AVAudioPlayerNodeCompletionCallbackType: Int, Sendable {
  /// The samples may be used again.
  case dataConsumed = 0
  /// The last frame has left the player.
  case dataRendered = 1
  /// The last frame was heard. In manual rendering: has left the player.
  case dataPlayedBack = 2
}

/// A function that is called when a buffer or a file is over, on a thread of the library.
public typealias AVAudioNodeCompletionHandler = @Sendable () -> Void
/// A function that is called when a buffer or a file is over, on a thread of the library.
public typealias AVAudioPlayerNodeCompletionHandler =
  @Sendable (AVAudioPlayerNodeCompletionCallbackType) -> Void

/// A node that plays buffers.
///
/// Times of buffers count in frames of the player's output from the moment it was started, which is 0 again after
/// `stop`. A host time counts if no sample time is valid, and never in manual rendering. A moment that has passed means
/// the present one.
///
/// Handlers are called in order, once each, on one thread of the engine: also for what `stop` has ended.
@safe
open class AVAudioPlayerNode: AVAudioNode, AVAudioMixing, MixedNode, @unchecked Sendable {
  let mixing = MixingSettings()
  package var player: BufferPlayerUnit { unsafe unsafeDowncast(unit, to: BufferPlayerUnit.self) }

  /// Creates a player.
  public init() { super.init(unit: Self.make { try BufferPlayerUnit("AVAudioPlayerNode") }) }

  override func moved(to engine: AVAudioEngine?) {
    if engine == nil { player.stop() }
    super.moved(to: engine)
    player.setThreads(engine?.threads.handlers, reading: engine?.threads.files)
  }

  override func applyOutput(_ format: BusFormat) throws {
    try super.applyOutput(format)
    player.isConnected()
  }

  // MARK: Buffers

  /// Plays a buffer behind what was scheduled before.
  ///
  /// The buffer has as many channels as the player's output. It is played at the output's rate, whatever its own is, and
  /// stays as it is until it is over.
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer, completionHandler: AVAudioNodeCompletionHandler? = nil
  ) {
    schedule(buffer, nil, [], .dataConsumed, completionHandler)
  }

  /// Plays a buffer behind what was scheduled before, and tells when it is over in one of three ways.
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType,
    completionHandler: AVAudioPlayerNodeCompletionHandler? = nil
  ) {
    let handler = Self.handler(completionHandler, callbackType)
    schedule(buffer, nil, [], callbackType, handler)
  }

  /// Plays a buffer at a moment; nil for as early as what was scheduled before allows.
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer, at when: AVAudioTime?,
    options: AVAudioPlayerNodeBufferOptions = [],
    completionHandler: AVAudioNodeCompletionHandler? = nil
  ) {
    schedule(buffer, when, options, .dataConsumed, completionHandler)
  }

  /// Plays a buffer at a moment, and tells when it is over in one of three ways.
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer, at when: AVAudioTime?,
    options: AVAudioPlayerNodeBufferOptions = [],
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType,
    completionHandler: AVAudioPlayerNodeCompletionHandler? = nil
  ) {
    let handler = Self.handler(completionHandler, callbackType)
    schedule(buffer, when, options, callbackType, handler)
  }

  /// Plays a buffer behind what was scheduled before, and returns when its samples may be used again.
  public func scheduleBuffer(_ buffer: AVAudioPCMBuffer) async {
    await scheduleBuffer(buffer, at: nil)
  }

  /// Plays a buffer at a moment, and returns when its samples may be used again.
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer, at when: AVAudioTime?,
    options: AVAudioPlayerNodeBufferOptions = []
  ) async {
    await withCheckedContinuation { over in
      scheduleBuffer(buffer, at: when, options: options) { over.resume() }
    }
  }

  /// Plays a buffer behind what was scheduled before, and returns when it is over in one of three ways.
  @discardableResult
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType
  ) async -> AVAudioPlayerNodeCompletionCallbackType {
    await scheduleBuffer(buffer, at: nil, completionCallbackType: callbackType)
  }

  /// Plays a buffer at a moment, and returns when it is over in one of three ways.
  @discardableResult
  public func scheduleBuffer(
    _ buffer: AVAudioPCMBuffer, at when: AVAudioTime?,
    options: AVAudioPlayerNodeBufferOptions = [],
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType
  ) async -> AVAudioPlayerNodeCompletionCallbackType {
    await withCheckedContinuation { over in
      scheduleBuffer(buffer, at: when, options: options, completionCallbackType: callbackType) {
        over.resume(returning: $0)
      }
    }
  }

  /// Returns a handler that hands over the kind of its call.
  static func handler(
    _ body: AVAudioPlayerNodeCompletionHandler?,
    _ type: AVAudioPlayerNodeCompletionCallbackType
  ) -> AVAudioNodeCompletionHandler? {
    guard let body else { return nil }
    return { body(type) }
  }

  private func schedule(
    _ buffer: AVAudioPCMBuffer, _ when: AVAudioTime?, _ options: AVAudioPlayerNodeBufferOptions,
    _ type: AVAudioPlayerNodeCompletionCallbackType, _ handler: AVAudioNodeCompletionHandler?
  ) {
    let engine = attachedEngine(for: "AVAudioPlayerNode.scheduleBuffer")
    let format = outputFormat(forBus: 0)
    guard let bus = buffer.format.bus, bus.channels == Int(format.channelCount) else {
      refuse(
        "AVAudioPlayerNode.scheduleBuffer: a buffer of \(buffer.format.channelCount) channels does not fit an output of \(format.channelCount)"
      )
    }
    var sound = unsafe ScheduledSound(
      .samples(buffer.unitSamples, bus, frames: Int(buffer.frameLength), buffer))
    sound.loops = options.contains(.loops)
    if options.contains(.interrupts) {
      sound.turn = .interrupts
    } else if options.contains(.interruptsAtLoop) {
      sound.turn = .interruptsAtLoop
    }
    schedule(sound, when, type, handler, engine)
  }

  func schedule(
    _ sound: ScheduledSound, _ when: AVAudioTime?,
    _ type: AVAudioPlayerNodeCompletionCallbackType, _ handler: AVAudioNodeCompletionHandler?,
    _ engine: AVAudioEngine
  ) {
    var sound = sound
    sound.start = start(when, engine)
    sound.isHeard = type == .dataPlayedBack && !engine.isInManualRenderingMode
    sound.handler = handler
    player.schedule(sound)
  }

  private func start(_ when: AVAudioTime?, _ engine: AVAudioEngine) -> BufferStart {
    guard let when else { return .next }
    if when.isSampleTimeValid {
      let frames = Double(when.sampleTime)
      let rate = when.sampleRate > 0 ? renderRate / when.sampleRate : 1
      return .frame(AVAudioFramePosition(held: (frames * rate).rounded()))
    }
    return when.isHostTimeValid && !engine.isInManualRenderingMode ? .host(when.hostTime) : .next
  }

  // MARK: Clock

  /// Starts the player, or goes on after a pause, as soon as possible. If the engine does not run, that is
  /// when it does.
  public func play() { play(at: nil) }

  /// Starts the player, or goes on after a pause, at a moment: a sample time of the player's renders, or a host
  /// time if none is valid; nil for as soon as possible.
  public func play(at when: AVAudioTime?) {
    let engine = attachedEngine(for: "AVAudioPlayerNode.play")
    if !engine.isRunning {
      log.warning(
        "AVAudioPlayerNode.play: the engine does not run, so the player plays when that does")
    }
    var start = PlayerStart.nextRender
    if let when {
      if when.isSampleTimeValid {
        let rate = when.sampleRate > 0 ? renderRate / when.sampleRate : 1
        start = .sample(Double(when.sampleTime) * rate)
      } else if when.isHostTimeValid && !engine.isInManualRenderingMode {
        start = .host(when.hostTime)
      }
    }
    player.setHeardAfter(outputPresentationLatency - engine.presentationLatency)
    player.play(start)
  }

  /// Holds the player's clock with the next render. What is scheduled stays.
  public func pause() { player.pause() }

  /// Ends all that is scheduled, and the player's clock, which begins anew with the next `play`. The handlers of
  /// what has not come to its end are called soon.
  public func stop() { player.stop() }

  /// The same as `stop`.
  open override func reset() {
    super.reset()
    player.stop()
  }

  /// Reads the beginning of files that are scheduled, four times 16,384 frames whatever the number asked for. This
  /// happens on a thread of the engine, too, when they are scheduled and the player is connected.
  public func prepare(withFrameCount frameCount: AVAudioFrameCount) { player.readAhead() }

  /// True from `play` until `pause` or `stop`, or until the engine stops, also when there is nothing to play.
  public var isPlaying: Bool { player.isPlaying }

  // MARK: Times

  /// Returns the moment of the player's clock at a moment of its renders; nil while the player does not play, or
  /// before its first render. It is below 0 before a start that lies ahead.
  @discardableResult
  public func playerTime(forNodeTime nodeTime: AVAudioTime) -> AVAudioTime? {
    guard let clock = player.clock else { return nil }
    let rate = renderRate
    guard let sample = nodeTime.samples(atRate: rate, near: lastRenderTime) else { return nil }
    let frame = clock.frame + AVAudioFramePosition(held: (sample - clock.sampleTime).rounded())
    return nodeTime.isHostTimeValid
      ? AVAudioTime(hostTime: nodeTime.hostTime, sampleTime: frame, atRate: rate)
      : AVAudioTime(sampleTime: frame, atRate: rate)
  }

  /// Returns the moment of the player's renders at a moment of its clock; nil while the player does not play.
  @discardableResult
  public func nodeTime(forPlayerTime playerTime: AVAudioTime) -> AVAudioTime? {
    guard let clock = player.clock, playerTime.isSampleTimeValid else { return nil }
    let rate = renderRate
    let scale = playerTime.sampleRate > 0 ? rate / playerTime.sampleRate : 1
    let distance = Double(playerTime.sampleTime) * scale - Double(clock.frame)
    let sample = AVAudioFramePosition(held: (clock.sampleTime + distance).rounded())
    let time = AVAudioTime(sampleTime: sample, atRate: rate)
    return lastRenderTime.flatMap { time.extrapolateTime(fromAnchor: $0) } ?? time
  }
}

extension AVAudioTime {
  /// Returns the moment in samples of a rate; nil if that is not known.
  ///
  /// - Parameter anchor: A moment with both times, for one that has only a host time.
  func samples(atRate rate: Double, near anchor: AVAudioTime?) -> Double? {
    if isSampleTimeValid {
      return Double(sampleTime) * (sampleRate > 0 ? rate / sampleRate : 1)
    }
    guard isHostTimeValid, let anchor, anchor.isHostTimeValid, anchor.isSampleTimeValid else {
      return nil
    }
    let passed = Double(Int64(bitPattern: hostTime &- anchor.hostTime)) / 1e9
    return Double(anchor.sampleTime) + passed * rate
  }
}

public import AudioToolbox
import AudioUnits
import CRealTime
import Foundation
import RealTime

/// How an engine without a device renders.
public enum AVAudioEngineManualRenderingMode: Int, Sendable {
  /// As fast as the program asks. Renders may wait for files and taps.
  case offline = 0
  /// In cycles of the program: renders neither allocate nor wait.
  case realtime = 1
}

/// The result of a manual render.
public enum AVAudioEngineManualRenderingStatus: Int, Sendable {
  /// It has failed.
  case error = -1
  /// All frames were rendered.
  case success = 0
  /// The input node's function gave too little: its sound is silence there.
  case insufficientDataFromInputNode = 1
  /// Another thread renders. Try it again.
  case cannotDoInCurrentContext = 2
}

/// Errors of manual rendering, in the domain `com.apple.coreaudio.avfaudio`.
public enum AVAudioEngineManualRenderingError: OSStatus, Sendable {
  /// The engine is not in manual rendering, or not in this mode.
  case invalidMode = -80800
  /// The engine runs.
  case initialized = -80801
  /// The engine does not run.
  case notRunning = -80802
}

/// A function that renders a number of frames into a list, whose buffers have room for them. The status is stored unless
/// the pointer is nil.
public typealias AVAudioEngineManualRenderingBlock = (
  AVAudioFrameCount, UnsafeMutablePointer<AudioBufferList>, UnsafeMutablePointer<OSStatus>?
) -> AVAudioEngineManualRenderingStatus

extension AVAudioEngine {
  static func error(_ code: AVAudioEngineManualRenderingError) -> NSError {
    error(code.rawValue)
  }

  static func error(_ code: OSStatus) -> NSError {
    NSError(domain: "com.apple.coreaudio.avfaudio", code: Int(code))
  }

  /// Hands the rendering of the engine from the device to the program. Connections stay; taps of the output and of the
  /// input are removed.
  ///
  /// Renders give sound in `pcmFormat`, at most `maximumFrameCount` frames at a time.
  ///
  /// - Throws: -80801 if the engine runs; -50 if the format is not linear PCM or the number is 0 or above 2²⁰.
  public func enableManualRenderingMode(
    _ mode: AVAudioEngineManualRenderingMode, format pcmFormat: AVAudioFormat,
    maximumFrameCount: AVAudioFrameCount
  ) throws {
    if isRunning { throw Self.error(.initialized) }
    guard pcmFormat.bus != nil, (1...1 << 20).contains(maximumFrameCount) else {
      throw Self.error(kAudio_ParamError)
    }
    edit {
      for node in attachedNodes where node is AVAudioIONode { node.endTaps() }
      manual.set { setup in
        setup.isOn = true
        setup.isOffline = mode == .offline
        setup.format = pcmFormat
        setup.maximumFrames = maximumFrameCount
      }
      manual.resetTime()
      renderFormatChanged()
    }
  }

  /// Stops and resets the engine, and lets it render to a device again.
  public func disableManualRenderingMode() {
    guard isInManualRenderingMode else { return }
    stop()
    reset()
    edit {
      manual.set { $0 = ManualRenderer.Setup() }
      renderFormatChanged()
    }
  }

  /// True while the program renders the engine.
  public var isInManualRenderingMode: Bool { manual.current.isOn }
  /// The mode that was set last.
  public var manualRenderingMode: AVAudioEngineManualRenderingMode {
    manual.current.isOffline ? .offline : .realtime
  }
  /// The format of what is rendered; 0 Hz and no channels outside manual rendering.
  public var manualRenderingFormat: AVAudioFormat { manual.current.format }
  /// Frames of the longest render; 0 outside manual rendering.
  public var manualRenderingMaximumFrameCount: AVAudioFrameCount {
    isInManualRenderingMode ? manual.current.maximumFrames : 0
  }
  /// Frames that were rendered since manual rendering was enabled, or the engine reset.
  public var manualRenderingSampleTime: AVAudioFramePosition { manual.sampleTime }

  /// Renders frames into a buffer, whose `frameLength` is then their number.
  ///
  /// - Throws: -80800 outside `offline`; -80802 if the engine does not run; -50 if the buffer has another format
  ///   than manual rendering, or too little room; -10874 for more frames than the largest number.
  @discardableResult
  public func renderOffline(
    _ numberOfFrames: AVAudioFrameCount, to buffer: AVAudioPCMBuffer
  ) throws -> AVAudioEngineManualRenderingStatus {
    let setup = manual.current
    guard setup.isOn, setup.isOffline else { throw Self.error(.invalidMode) }
    guard isRunning else { throw Self.error(.notRunning) }
    guard buffer.format == setup.format, numberOfFrames <= buffer.frameCapacity else {
      throw Self.error(kAudio_ParamError)
    }
    if numberOfFrames > setup.maximumFrames {
      throw Self.error(kAudioUnitErr_TooManyFramesToProcess)
    }
    for node in attachedNodes {
      if let player = node as? AVAudioPlayerNode {
        // Converters take a little more than the rates say.
        let speed = speed(behind: player) * player.renderRate / setup.format.sampleRate
        player.player.readAhead(frames: Int(speed * Double(setup.maximumFrames)) + 4096)
      }
      node.awaitTaps()
    }
    buffer.frameLength = numberOfFrames
    let (status, code) = unsafe manual.render(numberOfFrames, buffer.unitSamples)
    if status == .error {
      buffer.frameLength = 0
      throw Self.error(code)
    }
    if status == .cannotDoInCurrentContext { buffer.frameLength = 0 }
    return status
  }

  /// Returns how much faster a node runs than the output, by the time effects between.
  private func speed(behind node: AVAudioNode) -> Double {
    outputConnectionPoints(for: node, outputBus: 0).compactMap(\.node).map { next in
      ((next as? AVAudioUnitTimeEffect)?.speed ?? 1) * speed(behind: next)
    }.max() ?? 1
  }

  /// The function that renders, for `realtime`. It neither allocates nor waits, and goes on to work while nodes and
  /// connections change. In `offline`, it does not wait for files and taps.
  public var manualRenderingBlock: AVAudioEngineManualRenderingBlock {
    let manual = manual
    return { frames, list, status in
      let samples = unsafe UnsafeMutableRawPointer(list)
        .assumingMemoryBound(to: cue_buffer_list.self)
      let (result, code) = unsafe manual.render(frames, samples)
      if let status = unsafe status { unsafe status.pointee = code }
      return result
    }
  }
}

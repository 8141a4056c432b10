import AudioUnits
import CRealTime
import Codecs
import Files
import Foundation
import Logging
import RealTime
import System

// Files, which a thread of the engine reads ahead.

extension AVAudioPlayerNode {
  /// Plays a file behind what was scheduled before, or at a moment. Its sound is converted to the rate and the channels of
  /// the player's output.
  public func scheduleFile(
    _ file: AVAudioFile, at when: AVAudioTime?,
    completionHandler: AVAudioNodeCompletionHandler? = nil
  ) {
    schedule(file, 0, nil, when, .dataConsumed, completionHandler)
  }

  /// Plays a file, and tells when it is over in one of three ways.
  public func scheduleFile(
    _ file: AVAudioFile, at when: AVAudioTime?,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType,
    completionHandler: AVAudioPlayerNodeCompletionHandler? = nil
  ) {
    let handler = Self.handler(completionHandler, callbackType)
    schedule(file, 0, nil, when, callbackType, handler)
  }

  /// Plays frames of a file, which count at the file's rate. It ends with the file, if that is earlier.
  public func scheduleSegment(
    _ file: AVAudioFile, startingFrame startFrame: AVAudioFramePosition,
    frameCount numberFrames: AVAudioFrameCount, at when: AVAudioTime?,
    completionHandler: AVAudioNodeCompletionHandler? = nil
  ) {
    schedule(file, startFrame, numberFrames, when, .dataConsumed, completionHandler)
  }

  /// Plays frames of a file, and tells when they are over in one of three ways.
  public func scheduleSegment(
    _ file: AVAudioFile, startingFrame startFrame: AVAudioFramePosition,
    frameCount numberFrames: AVAudioFrameCount, at when: AVAudioTime?,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType,
    completionHandler: AVAudioPlayerNodeCompletionHandler? = nil
  ) {
    let handler = Self.handler(completionHandler, callbackType)
    schedule(file, startFrame, numberFrames, when, callbackType, handler)
  }

  /// Plays a file, and returns when all of it was read.
  public func scheduleFile(_ file: AVAudioFile, at when: AVAudioTime?) async {
    await withCheckedContinuation { over in scheduleFile(file, at: when) { over.resume() } }
  }

  /// Plays a file, and returns when it is over in one of three ways.
  @discardableResult
  public func scheduleFile(
    _ file: AVAudioFile, at when: AVAudioTime?,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType
  ) async -> AVAudioPlayerNodeCompletionCallbackType {
    await withCheckedContinuation { over in
      scheduleFile(file, at: when, completionCallbackType: callbackType) {
        over.resume(returning: $0)
      }
    }
  }

  /// Plays frames of a file, and returns when all of them were read.
  public func scheduleSegment(
    _ file: AVAudioFile, startingFrame startFrame: AVAudioFramePosition,
    frameCount numberFrames: AVAudioFrameCount, at when: AVAudioTime?
  ) async {
    await withCheckedContinuation { over in
      scheduleSegment(file, startingFrame: startFrame, frameCount: numberFrames, at: when) {
        over.resume()
      }
    }
  }

  /// Plays frames of a file, and returns when they are over in one of three ways.
  @discardableResult
  public func scheduleSegment(
    _ file: AVAudioFile, startingFrame startFrame: AVAudioFramePosition,
    frameCount numberFrames: AVAudioFrameCount, at when: AVAudioTime?,
    completionCallbackType callbackType: AVAudioPlayerNodeCompletionCallbackType
  ) async -> AVAudioPlayerNodeCompletionCallbackType {
    await withCheckedContinuation { over in
      scheduleSegment(
        file, startingFrame: startFrame, frameCount: numberFrames, at: when,
        completionCallbackType: callbackType
      ) { over.resume(returning: $0) }
    }
  }

  private func schedule(
    _ file: AVAudioFile, _ first: AVAudioFramePosition, _ frames: AVAudioFrameCount?,
    _ when: AVAudioTime?, _ type: AVAudioPlayerNodeCompletionCallbackType,
    _ handler: AVAudioNodeCompletionHandler?
  ) {
    let engine = attachedEngine(for: "AVAudioPlayerNode.scheduleFile")
    let opened = Result { try MediaFiles.open(path: file.url.path, decodesOthers: true) }
    let sound = ScheduledSound(
      .file(firstFrame: max(0, first), frames: frames.map { Int64($0) }) {
        (format) throws(UnitError) in
        do { return try NodeFile(opened.get(), format) } catch {
          throw .invalidValue(OpenedFile.failure(error, file.url).localizedDescription)
        }
      })
    schedule(sound, when, type, handler, engine)
  }
}

/// A file that is read for a player, apart from what the app reads of it. One thread at a time.
private final class NodeFile: PlayerFile, @unchecked Sendable {
  let sampleRate: Double
  private let reader: MediaReader
  private let converter: StreamConverter
  private let format: PCMFormat

  /// - Parameter format: The rate and the channels of the player.
  init(_ file: any MediaFile, _ format: BusFormat) throws {
    sampleRate = file.format.sampleRate
    let (inputs, outputs) = (file.format.channels, format.channels)
    self.format = PCMFormat(
      sampleRate: format.sampleRate, channels: outputs, kind: .float, bitsPerSample: 32)
    var options = StreamConverter.Options()
    options.cookie = file.cookie
    if inputs != outputs {
      let gains = EngineMixerUnit.gains(from: inputs, to: outputs)
      options.mix = .mix(
        (0..<inputs).map { input in (0..<outputs).map { gains[$0 * inputs + input] } })
    }
    converter = try StreamConverter(from: file.format, to: .pcm(self.format), options)
    reader = MediaReader(file)
  }

  func seek(to frame: Int64) { reader.seek(to: frame) }

  func read(_ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int) throws(UnitError) -> Int {
    let buffers = unsafe cue_rt_buffers(list)
    let starts = unsafe (0..<format.channels).compactMap { unsafe buffers[$0].data }
    guard let samples = unsafe SampleBuffers(format, at: starts) else { return 0 }
    var sink = StreamConverter.Sink.frames(samples, room: frames)
    do throws(MediaError) {
      try reader.read(&sink, through: converter)
    } catch {
      // The frames before the failure count.
      guard sink.count > 0 else { throw .invalidValue("\(error)") }
    }
    return sink.count
  }
}

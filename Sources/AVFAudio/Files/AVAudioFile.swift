import AudioToolbox
import Codecs
import Files
public import Foundation
import Logging
import RealTime
import Synchronization
import System

/// A sound file of any format, whose sound is read or written as linear PCM. Any thread; blocks.
open class AVAudioFile: NSObject, @unchecked Sendable {
  /// The file.
  public let url: URL
  /// The format of the sound in the file.
  public let fileFormat: AVAudioFormat
  /// The format of the buffers, at the file's rate and with its channels.
  public let processingFormat: AVAudioFormat

  private enum State {
    case reading(MediaReader, frames: Int64)
    case writing(MediaWriter, frames: Int64)
    case closed(frames: Int64)
  }
  /// Held during each call, for `state`, `nextCheckpoint` and `hasToldMissing`.
  private let access = Mutex(())
  private var state: State
  private let converter: StreamConverter
  /// Host time of the next checkpoint in nanoseconds.
  private var nextCheckpoint: UInt64 = 0
  /// True once the log has told of sound that cannot be decoded.
  private var hasToldMissing = false

  private init(_ url: URL, _ open: () throws -> OpenedFile) throws {
    self.url = url
    do {
      let opened = try open()
      fileFormat = opened.fileFormat
      processingFormat = opened.processingFormat
      converter = opened.converter
      state =
        switch opened.end {
        case .reader(let reader): .reading(reader, frames: try reader.frameCount)
        case .writer(let writer): .writing(writer, frames: 0)
        }
    } catch {
      throw OpenedFile.failure(error, url)
    }
  }

  deinit { close() }

  // MARK: Opening

  /// Opens a file for reading, in the standard format.
  public convenience init(forReading fileURL: URL) throws {
    try self.init(forReading: fileURL, commonFormat: .pcmFormatFloat32, interleaved: false)
  }

  /// Opens a file for reading.
  public convenience init(
    forReading fileURL: URL, commonFormat format: AVAudioCommonFormat, interleaved: Bool
  ) throws {
    try self.init(fileURL) { try OpenedFile(reading: fileURL, format, isInterleaved: interleaved) }
  }

  /// Creates a file, in place of one of the same name, for writing buffers of the standard format.
  public convenience init(forWriting fileURL: URL, settings: [String: Any]) throws {
    try self.init(
      forWriting: fileURL, settings: settings, commonFormat: .pcmFormatFloat32, interleaved: false)
  }

  /// Creates a file, in place of one of the same name.
  ///
  /// The settings are the format of the sound in the file, and those of its encoder. `AVAudioFileTypeKey`, or else the
  /// name's extension, says which type of file it becomes.
  public convenience init(
    forWriting fileURL: URL, settings: [String: Any], commonFormat format: AVAudioCommonFormat,
    interleaved: Bool
  ) throws {
    try self.init(fileURL) {
      try OpenedFile(writing: fileURL, settings, format, isInterleaved: interleaved)
    }
  }

  /// True until `close()`.
  public var isOpen: Bool {
    access.withLock { _ in if case .closed = state { false } else { true } }
  }

  /// Completes and closes the file. Releasing the last reference does the same.
  public func close() {
    do { try complete() } catch { log.error("AVAudioFile.close: \(error.localizedDescription)") }
  }

  /// Completes and closes the file, as `close` does.
  func complete() throws {
    try call {
      let (file, frames): (any MediaFile, Int64)
      switch state {
      case .closed: return
      case .reading(let reader, let count): (file, frames) = (reader.file, count)
      case .writing(let writer, let count): (file, frames) = (writer.file, count)
      }
      defer { state = .closed(frames: frames) }
      if case .writing(let writer, _) = state { try writer.finish(through: converter) }
      try file.close()
    }
  }

  // MARK: Positions

  /// The number of frames in the file, without the priming and the remainder of codecs.
  public var length: AVAudioFramePosition {
    access.withLock { _ in
      switch state {
      case .reading(_, let frames), .writing(_, let frames), .closed(let frames): frames
      }
    }
  }

  /// The next frame to read, which may be set; while the file is written, its length. A position outside the file
  /// is taken for its nearer end.
  public var framePosition: AVAudioFramePosition {
    get {
      access.withLock { _ in
        switch state {
        case .reading(let reader, _): reader.position
        case .writing(_, let frames), .closed(let frames): frames
        }
      }
    }
    set {
      access.withLock { _ in
        guard case .reading(let reader, let frames) = state else { return }
        reader.seek(to: min(max(0, newValue), frames))
      }
    }
  }

  // MARK: Reading and writing

  private func call(_ body: () throws -> Void) throws {
    try access.withLock { _ in
      do { try body() } catch { throw OpenedFile.failure(error, url) }
    }
  }

  private func samples(of buffer: AVAudioPCMBuffer) throws -> SampleBuffers {
    guard buffer.format == processingFormat, let samples = buffer.samples else {
      throw ExtAudioFileError.badArgument(
        "the buffer is of \(buffer.format), the file of \(processingFormat)")
    }
    return samples
  }

  /// Fills a buffer from `framePosition` on. See `read(into:frameCount:)`.
  public func read(into buffer: AVAudioPCMBuffer) throws {
    try read(into: buffer, frameCount: buffer.frameCapacity)
  }

  /// Reads frames into a buffer of the processing format, from `framePosition` on, and sets its `frameLength`. At the
  /// end of the file there may be fewer than asked for.
  ///
  /// - Throws: At the end of the file, if there are none. Then `frameLength` is 0.
  public func read(into buffer: AVAudioPCMBuffer, frameCount frames: AVAudioFrameCount) throws {
    try call {
      buffer.frameLength = 0
      guard case .reading(let reader, _) = state else {
        throw ExtAudioFileError.order("the file is not open for reading")
      }
      let room = Int(min(frames, buffer.frameCapacity))
      var sink = StreamConverter.Sink.frames(try samples(of: buffer), room: room)
      do {
        try reader.read(&sink, through: converter)
      } catch {
        // The frames before the failure count.
        guard sink.count > 0 else { throw error }
        log.warning("AVAudioFile.read: \(OpenedFile.failure(error, url).localizedDescription)")
      }
      buffer.frameLength = AVAudioFrameCount(sink.count)
      if !hasToldMissing,
        let words = reader.missing.words(sampleRate: processingFormat.sampleRate)
      {
        hasToldMissing = true
        log.warning("AVAudioFile.read: \(url.path): \(words)")
      }
      guard sink.count == 0, room > 0 else { return }
      // Swift on Apple's systems throws this error where an Objective-C method fails without one.
      throw NSError("Foundation._GenericObjCError", 0, "\(url.path): the sound ends here")
    }
  }

  /// Appends the valid frames of a buffer of the processing format. Those of the last second may be lost if the
  /// process is killed.
  public func write(from buffer: AVAudioPCMBuffer) throws {
    try call {
      guard case .writing(let writer, let frames) = state else {
        throw ExtAudioFileError.order("the file is not open for writing")
      }
      var source = StreamConverter.Source.frames(
        try samples(of: buffer), count: Int(buffer.frameLength))
      try writer.write(&source, through: converter)
      state = .writing(writer, frames: frames + Int64(buffer.frameLength))
      let now = HostTime.now
      guard now >= nextCheckpoint else { return }
      try writer.file.checkpoint()
      nextCheckpoint = now + 700_000_000
    }
  }

  /// The path, the format and the length.
  open override var description: String {
    "<\(identity): \(url.path), \(fileFormat), \(length) frames>"
  }
}

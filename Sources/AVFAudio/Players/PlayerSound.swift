import AudioToolbox
import Codecs
import Files
import Foundation
import Logging
import RealTime
import Synchronization
import System

/// The sound of an `AVAudioPlayer`: a file that a thread of the player's queue reads ahead, once or several times without
/// a gap.
final class PlayerSound: @unchecked Sendable {
  /// The name of the file in messages.
  let name: String
  /// The format of the sound in the file.
  let format: AVAudioFormat
  /// Frames of the file.
  let frames: Int64
  let channels: Int

  private struct State {
    /// The frame of the file with which the next run begins.
    var first: Int64 = 0
    /// Further passes over the file; below 0 without an end.
    var loops = 0
    /// Passes of the present run that were read.
    var passes = 0
    /// True once all of the present run was read.
    var isOver = false
    var failure: NSError?
  }
  private let state = Mutex(State())
  /// Nil for no sound at all. Used by the reading thread alone.
  private let source: (reader: MediaReader, converter: StreamConverter)?
  private let samples: PCMFormat
  private var hasToldMissing = false

  /// Creates a sound of no file.
  init() {
    name = "no sound"
    format = .fallback
    channels = Int(format.channelCount)
    samples = PCMFormat(
      sampleRate: format.sampleRate, channels: channels, kind: .float, bitsPerSample: 32)
    source = nil
    frames = 0
  }

  /// Opens a file, or one in memory.
  init(_ url: URL?, _ data: Data?) throws {
    let name = url?.path ?? "the data"
    self.name = name
    do {
      let opened =
        if let url {
          try OpenedFile(reading: url, .pcmFormatFloat32, isInterleaved: true)
        } else {
          try OpenedFile(
            reading: MediaFiles.open(
              DataStore(data ?? Data(), named: name), decodesOthers: true),
            .pcmFormatFloat32, isInterleaved: true)
        }
      guard case .reader(let reader) = opened.end, case .pcm(let samples) = opened.converter.output
      else { throw AudioSettings.Fault(reason: "the sound cannot be read") }
      source = (reader, opened.converter)
      self.samples = samples
      format = opened.fileFormat
      channels = samples.channels
      frames = try reader.frameCount
    } catch {
      throw OpenedFile.failure(error, named: name)
    }
  }

  var sampleRate: Double { samples.sampleRate }
  /// False for a sound of no file.
  var isThere: Bool { source != nil }

  /// The reason why the present run ends before the sound does; nil if there is none.
  var failure: NSError? { state.withLock { $0.failure } }

  /// Sets where the next run begins, and how often it goes on with the first frame.
  func begin(at frame: Int64, loops: Int) {
    state.withLock { $0 = State(first: frame, loops: loops) }
  }

  /// Sets how often the present run goes on with the first frame, from the pass on that is being read.
  ///
  /// - Returns: False if all of the run was read before.
  func setLoops(_ loops: Int) -> Bool {
    state.withLock { state in
      if !state.isOver { state.loops = loops }
      return !state.isOver
    }
  }

  /// Returns the frame of the file after a number of frames that the run has come since the first frame of its first
  /// pass.
  func position(after passed: Double) -> Double {
    let length = Double(frames)
    guard length > 0 else { return 0 }
    let (isOver, passes) = state.withLock { ($0.isOver, $0.passes) }
    if isOver, passed >= Double(passes + 1) * length { return length }
    return passed.truncatingRemainder(dividingBy: length)
  }

  /// Appends frames of a run, up to the capacity; none at its end.
  ///
  /// - Parameter frame: Frames of the run that were read before.
  func read(_ frame: Int, _ output: inout OutputSpan<Float>) {
    let (first, isOver) = state.withLock { ($0.first, $0.isOver) }
    guard !isOver, let (reader, converter) = source else { return }
    if frame == 0 { reader.seek(to: first) }
    unsafe output.withUnsafeMutableBufferPointer { buffer, count in
      guard let start = buffer.baseAddress,
        let memory = unsafe SampleBuffers(samples, at: [UnsafeMutableRawPointer(start)])
      else { return }
      var sink = StreamConverter.Sink.frames(memory, room: buffer.count / channels)
      read(into: &sink, reader, converter)
      count = sink.count * channels
    }
  }

  private func read(
    into sink: inout StreamConverter.Sink, _ reader: MediaReader, _ converter: StreamConverter
  ) {
    do {
      var before = sink.count
      var isWhole = false
      while true {
        try reader.read(&sink, through: converter)
        tellMissing(reader)
        if sink.isFull { return }
        // A file from which nothing comes is not read without an end.
        if isWhole, sink.count == before { return end(nil) }
        guard beginPass() else { return }
        (before, isWhole) = (sink.count, true)
        reader.seek(to: 0)
      }
    } catch {
      let failure = OpenedFile.failure(error, named: name)
      log.error("AVAudioPlayer: \(failure.localizedDescription)")
      end(failure)
    }
  }

  private func end(_ failure: NSError?) {
    state.withLock { ($0.isOver, $0.failure) = (true, failure) }
  }

  /// Notes that the file has ended.
  ///
  /// - Returns: True if it is to be read once more.
  private func beginPass() -> Bool {
    state.withLock { state in
      if state.loops == 0 {
        state.isOver = true
        return false
      }
      state.passes += 1
      if state.loops > 0 { state.loops -= 1 }
      return true
    }
  }

  private func tellMissing(_ reader: MediaReader) {
    guard !hasToldMissing, let words = reader.missing.words(sampleRate: sampleRate) else { return }
    hasToldMissing = true
    log.warning("AVAudioPlayer: \(name): \(words)")
  }
}

/// A sound file in memory.
private final class DataStore: ByteStore {
  let name: String
  let isWritable = false
  private let data: Data

  init(_ data: Data, named name: String) throws {
    self.data = data
    self.name = name
    if data.isEmpty { throw SoundFileError(.empty, path: name) }
  }

  func byteCount() -> Int64 { Int64(data.count) }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < Int64(data.count) else { return 0 }
    let part = data.dropFirst(Int(offset)).prefix(buffer.count)
    unsafe buffer.copyBytes(from: part)
    return part.count
  }

  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }

  func setByteCount(_ count: Int64) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }

  func synchronize() {}
}

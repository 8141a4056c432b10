import AudioQueue
import AudioToolbox
import Foundation
import Synchronization

/// The file of one recording of an `AVAudioRecorder`. A thread of the recorder's queue writes to it.
final class RecordingFile: Sendable {
  private struct State {
    var file: AVAudioFile?
    var piece: AVAudioPCMBuffer?
    /// The queue's buffers by their numbers.
    var buffers: [UInt32: QueueBuffer] = [:]
    /// Frames in the file, and their number at which the recording ends.
    var written: Int64 = 0
    var end = Int64.max
    var isOver = false
    var failure: NSError?
  }
  private let state: Mutex<State>
  private let whenOver: @Sendable () -> Void

  /// - Parameter whenOver: Called once, on the queue's thread, when the recording is as long as it is to be, or
  ///   the file cannot be written.
  init(whenOver: @escaping @Sendable () -> Void) {
    state = Mutex(State())
    self.whenOver = whenOver
  }

  /// Sets the file, and adds the queue's buffers.
  func open(_ file: sending AVAudioFile, _ buffers: [QueueBuffer], frames: AVAudioFrameCount) {
    state.withLock { state in
      state.piece = AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: frames)
      state.file = file
      for buffer in buffers { state.buffers[buffer.id] = buffer }
    }
  }

  /// Ends the recording at a number of frames.
  func end(at frame: Int64) { state.withLock { $0.end = frame } }

  /// Writes the frames of a buffer. Frames that are missing before them become silence.
  func write(_ recording: Recording) {
    let isOver = state.withLock { state in
      guard !state.isOver, recording.frames > 0, let buffer = state.buffers[recording.buffer] else {
        return false
      }
      do {
        let gap = recording.startFrame - state.written
        if gap > 0 { try unsafe write(nil, min(gap, state.end - state.written), &state) }
        let frames = min(Int64(recording.frames), state.end - state.written)
        try unsafe write(UnsafeRawPointer(buffer.data.baseAddress), frames, &state)
      } catch {
        state.failure = error as NSError
      }
      state.isOver = state.failure != nil || state.written >= state.end
      return state.isOver
    }
    if isOver { whenOver() }
  }

  /// Writes frames from memory, or silence.
  private func write(_ start: UnsafeRawPointer?, _ frames: Int64, _ state: inout State) throws {
    guard let file = state.file, let piece = state.piece else { return }
    let target = unsafe piece.mutableAudioBufferList.pointee.mBuffers.mData!
    let bytes = unsafe Int(piece.format.streamDescription.pointee.mBytesPerFrame)
    var done: Int64 = 0
    while done < frames {
      let count = min(Int(frames - done), Int(piece.frameCapacity))
      if let start = unsafe start {
        unsafe target.copyMemory(from: start + Int(done) * bytes, byteCount: count * bytes)
      } else {
        unsafe target.initializeMemory(as: UInt8.self, repeating: 0, count: count * bytes)
      }
      piece.frameLength = AVAudioFrameCount(count)
      try file.write(from: piece)
      done += Int64(count)
      state.written += Int64(count)
    }
  }

  /// Completes the file.
  ///
  /// - Returns: The reason why it lacks sound; nil if it has all.
  func close() -> NSError? {
    state.withLock { state in
      state.isOver = true
      do { try state.file?.complete() } catch {
        if state.failure == nil { state.failure = error as NSError }
      }
      return state.failure
    }
  }
}

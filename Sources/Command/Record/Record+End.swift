import ArgumentParser
import AudioQueue
import Codecs
import Files
import RealTime
import Sessions
import System

/// The end of a recording: its files are completed, and told of.
extension Record {
  /// Completes the files of all channels but the first, and tells of them.
  ///
  /// - Returns: False if one of them could not be completed.
  func finishOthers(_ recordings: ArraySlice<RecordingParts>, _ commands: FileCommands)
    -> Bool
  {
    var isComplete = true
    for recording in recordings {
      do throws(SoundFileError) {
        let file = recording.path
        try recording.finish()
        guard let writer = recording.writer else { continue }
        let (path, wasDeleted) = rescue(recording.store, file)
        guard let path else {
          isComplete = false
          continue
        }
        if wasDeleted { isComplete = false }
        tell(
          RecordingParts.Part(
            path: path, frames: writer.frames, firstFrame: recording.partStart,
            bytes: try recording.byteCount), at: recording.plan.format.sampleRate)
        commands.run(take.onClose, for: path)
      } catch {
        Screen.shared.complain("\(error)")
        isComplete = false
      }
    }
    return isComplete
  }

  /// Completes the file, prints a summary, and throws the exit code if it is not 0.
  func finish(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ monitor: RecordMonitor,
    _ commands: FileCommands, stoppedBy signal: CInt?
  ) throws {
    guard let writer = recording.writer else {
      let parts = recording.completedParts
      if parts > 0 {
        return try end(recorder, recording, monitor, files: parts, stoppedBy: signal)
      }
      let old = recording.holdsOldFile ? "; the old file is as it was" : ""
      Screen.shared.say("\(recording.path): nothing was recorded\(old)")
      // The queue of a server that is gone may keep the recording for longer than the process lives.
      try? recording.finish()
      if recorder.hasFailed { throw ExitCode.failure }
      if let signal { throw ExitCode(128 + signal) }
      return
    }
    let file = recording.path
    let isPipe = PipedFile.isPipe(self.file)
    var failed = recorder.hasFailed
    do throws(SoundFileError) {
      try recording.finish()
    } catch {
      Screen.shared.complain("\(error)")
      failed = true
    }
    let (rescued, wasDeleted) = rescue(recording.store, file)
    guard let kept = rescued else { throw ExitCode.failure }
    if wasDeleted { failed = true }
    // If the file could not be completed, only frames that can be read back count.
    let found = failed && !isPipe ? readableFrames(kept) : writer.frames
    guard let frames = found, frames > 0 else {
      if found == 0 || recorder.frames == 0 { recording.store?.remove() }
      Screen.shared.say("\(file): nothing was recorded")
      throw ExitCode.failure
    }
    let size = (try? recording.byteCount) ?? 0
    if !isPipe { commands.run(take.onClose, for: kept) }
    if !isSeveral(recording) {
      Screen.shared.say(
        "\(kept): \(summary(of: recorder, frames: frames)), \(byteCount(size))\(monitor.words)")
      monitor.noteEnd(kept, frames: frames, bytes: size)
    } else {
      let part = RecordingParts.Part(
        path: kept, frames: frames, firstFrame: recording.partStart, bytes: size)
      tell(part, at: recorder.queue.format.sampleRate)
    }
    if failed { throw ExitCode.failure }
    try end(
      recorder, recording, monitor, files: recording.completedParts + 1, stoppedBy: signal)
  }

  /// Copies a complete file that was deleted while it was written, and tells of it.
  ///
  /// - Returns: Its path, nil if it is lost; and whether it was deleted.
  private func rescue(_ store: FileStore?, _ file: String) -> (path: String?, wasDeleted: Bool) {
    switch store.map(RecordingRescue.init) {
    case .notNeeded?, nil: return (file, false)
    case .copied(let path, _)?:
      Screen.shared.remark("what was recorded is kept in \(path)")
      return (path, true)
    case .lost?:
      Screen.shared.complain("\(file): what was recorded could not be kept")
      return (nil, true)
    }
  }

  /// Whether a recording has or may have several files, one after another.
  private func isSeveral(_ recording: RecordingParts) -> Bool {
    take.split != nil || take.again || recording.completedParts > 0
  }

  /// Prints a summary of all files of a recording, and throws the exit code if it is not 0.
  private func end(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ monitor: RecordMonitor, files: Int,
    stoppedBy signal: CInt?
  ) throws {
    if isSeveral(recording) {
      let frames = recording.frames
      Screen.shared.say(
        "\(files) file\(files == 1 ? "" : "s"): \(summary(of: recorder, frames: frames))\(monitor.words)"
      )
      monitor.noteEnd(monitor.path, frames: frames, bytes: nil)
    }
    let hasLosses = recorder.overruns > 0 && recorder.silentFrames > 0
    if recorder.hasFailed || hasLosses { throw ExitCode.failure }
    if let signal, client.seconds != nil { throw ExitCode(128 + signal) }
  }

  private func summary(of recorder: FileRecorder, frames: Int64) -> String {
    let seconds = Double(frames) / recorder.queue.format.sampleRate
    let silence =
      recorder.silentFrames > 0 ? " (\(recorder.silentFrames) frames of silence)" : ""
    let begin = recorder.firstDeviceFrame.map { " from frame \($0)" } ?? ""
    return "recorded \(frames) frames (\(exactClock(seconds)))\(begin); "
      + "overruns: \(recorder.overruns)\(silence)"
  }

  /// Returns the valid frames of a file; prints an error and returns nil if it cannot be opened.
  private func readableFrames(_ path: String) -> Int64? {
    do throws(SoundFileError) {
      return try MediaFiles.open(path: path).frameCount
    } catch {
      Screen.shared.complain("\(error)")
      return nil
    }
  }
}

/// Tells of a complete file of a recording that goes on, or has ended. Any thread.
func tell(_ part: RecordingParts.Part, at rate: Double) {
  Screen.shared.say(part.words(at: rate))
  Screen.shared.emit(
    FileEvent(
      file: part.path, firstFrame: part.firstFrame, frames: part.frames, bytes: part.bytes))
}

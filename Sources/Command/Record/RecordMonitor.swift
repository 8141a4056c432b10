import Analysis
import ArgumentParser
import AudioQueue
import Codecs
import Files
import RealTime
import Server
import Sessions
import Synchronization
import System

/// The path of the latest file of a recording that is complete while the recording goes on; nil before. Any
/// thread.
final class LatestPart: Sendable {
  private let held = Mutex<String?>(nil)
  var path: String? {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}

/// Levels, loudness and losses of a recording, for the display, the closing line and the events. Main
/// thread.
final class RecordMonitor {
  /// Measures what is written.
  let meter: RecordMeter
  private let recording: RecordingParts
  private let latest: LatestPart
  private let recorder: FileRecorder
  private var hold = PeakHold()
  /// Greatest peaks since the last event.
  private var peaks: [Float] = []
  /// Host time of the next position event in nanoseconds.
  private var nextPosition: UInt64 = 0
  /// The counts that the latest events reported.
  private var toldLosses: (overruns: UInt64, silence: Int64) = (0, 0)
  private var toldClips: UInt64 = 0
  private var end: FinishedEvent.File

  init(
    _ recording: RecordingParts, _ latest: LatestPart, _ recorder: FileRecorder,
    measuresLoudness: Bool
  ) {
    self.recording = recording
    self.latest = latest
    self.recorder = recorder
    meter = RecordMeter(recorder.queue.format, measuresLoudness: measuresLoudness)
    end = FinishedEvent.File(file: recording.path)
    recorder.queue.isMetering = true
  }

  /// Takes the latest peaks, and emits events. Call it several times per second.
  func update(_ start: ChosenStart?) {
    let gain = recorder.gain
    let new = recorder.queue.takePeaks().map { $0 * gain }
    let now = HostTime.now
    hold.note(new, clips: meter.clips, at: now)
    peaks = peaks.count == new.count ? zip(peaks, new).map { max($0, $1) } : new
    guard Screen.shared.isJSON else { return }
    emitLosses()
    guard now >= nextPosition else { return }
    nextPosition = now + 1_000_000_000
    Screen.shared.emit(
      PositionEvent(files: [
        PositionEvent.File(
          file: path, seconds: (position(start) * 1000).rounded() / 1000, frames: recorder.frames,
          bytes: bytes, peaks: peaks.levels, clips: meter.clipCount,
          loudness: meter.latest.map(LoudnessReport.init))
      ]))
    peaks = []
  }

  private func emitLosses() {
    let (overruns, silence) = (recorder.overruns, recorder.silentFrames)
    if (overruns, silence) != toldLosses {
      toldLosses = (overruns, silence)
      Screen.shared.emit(XrunEvent(file: path, overruns: overruns, silentFrames: silence))
    }
    let clips = meter.clipCount
    if clips != toldClips {
      toldClips = clips
      Screen.shared.emit(
        ClipEvent(file: path, clips: clips, peak: decibels(Double(meter.peak)).map(hundredths)))
    }
  }

  /// The latest peak of each channel in decibels.
  func peaks(_ channels: Int) -> [Float] { hold.peaks(channels) }

  /// The file that is written now, or the latest one if none is.
  var path: String {
    recording.writer == nil ? latest.path ?? recording.path : recording.path
  }
  /// The size of the file that is written now.
  private var bytes: Int64 { (try? recording.byteCount) ?? 0 }

  /// Recorded seconds; negative before the start.
  private func position(_ start: ChosenStart?) -> Double {
    if recorder.frames == 0, let start, let now = recorder.queue.deviceTime?.hostTime {
      return min(0, (Double(now) - Double(start.hostTime)) / 1e9)
    }
    return Double(recorder.frames) / recorder.queue.format.sampleRate
  }

  func progress(_ start: ChosenStart?) -> RecordingProgress {
    let clips = meter.clipCount
    let mark = clips > 0 ? ["clips: \(clips)"] : []
    return RecordingProgress(
      name: printable(fileName(path)),
      position: position(start), size: bytes, overruns: recorder.overruns,
      levels: hold.levels,
      details: (meter.latest?.displays ?? [""]).map {
        ([$0] + mark).filter { !$0.isEmpty }.joined(separator: "  ")
      }.filter { !$0.isEmpty })
  }

  /// The closing figures.
  var words: String {
    let figures = meter.figures.map { ", \($0.words)" } ?? ""
    return
      "; peak \(SoundFigures.word(Double(meter.peak))) dB, clips: \(meter.clipCount)\(figures)"
  }

  // MARK: Events

  func emitStart(_ start: ChosenStart?) {
    guard Screen.shared.isJSON else { return }
    let plan = recording.plan
    let statistics = recorder.queue.statistics
    Screen.shared.emit(
      StartedEvent(
        command: "record", server: statistics.serverName, frame: start?.exactFrame,
        hostTime: start?.hostTime,
        files: [
          StartedEvent.File(
            file: path, client: statistics.clientName,
            ports: zip(statistics.portNames, statistics.connections).map {
              StartedEvent.Port(port: $0, connections: $1)
            },
            format: plan.format.summary, channels: plan.format.channels,
            sampleRate: plan.format.sampleRate)
        ]))
  }

  /// Notes what was recorded, for the last event.
  func noteEnd(_ path: String, frames: Int64, bytes: Int64?) {
    end = FinishedEvent.File(
      file: path, frames: frames,
      duration: Double(frames) / recorder.queue.format.sampleRate,
      frame: recorder.firstDeviceFrame, bytes: bytes, overruns: recorder.overruns,
      silentFrames: recorder.silentFrames, peak: decibels(Double(meter.peak)).map(hundredths),
      clips: meter.clipCount, loudness: meter.figures.map(LoudnessReport.init))
  }

  /// Runs the end of the command, and emits the last event with its exit code.
  func emittingEnd(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      if Screen.shared.isJSON { emitLosses() }
      Screen.shared.emit(
        FinishedEvent(exitCode: (error as? ExitCode)?.rawValue ?? 1, files: [end]))
      throw error
    }
    if Screen.shared.isJSON { emitLosses() }
    Screen.shared.emit(FinishedEvent(exitCode: 0, files: [end]))
  }
}

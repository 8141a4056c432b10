import AudioQueue
import Control
import RealTime
import Server
import Sessions
import System

/// The addresses of `cuejack record`. Main thread.
struct RecordControls {
  let keys: RecordKeys
  let recorder: FileRecorder
  let monitor: RecordMonitor

  /// All addresses, on the recorder's device.
  func all(on device: Device) -> [CommandControl] {
    let (keys, recorder, monitor) = (keys, recorder, monitor)
    let name = "recordings/1"
    let channels = recorder.queue.format.channels
    let rate = recorder.queue.format.sampleRate
    var controls: [CommandControl] = [
      .action("start", "start the recording, or go on") { _ in try keys.start() },
      .action("stop", "end the take; without --again, end the recording") { _ in try keys.stop() },
      .action("pause", "pause, or go on") { _ in try keys.setPaused(!keys.isPaused) },
      .action("take", "end the take, and wait for the start of the next one") { _ in
        try keys.endTake()
      },
      .action("split", "go on in another file, without a gap") { _ in try keys.split() },
      .action("marker", "set a marker") { _ in try keys.addMarker() },
      .state("recording", types: "T", "whether frames are recorded") {
        .bool(keys.motion == "recording")
      },
      .state("motion", types: "s", "waiting, recording or paused") { .string(keys.motion) },
      .state("start/time", types: "s", "the start that is waited for, as --at takes it") {
        .string(keys.awaitedStart)
      },
      .meter("position", types: "d", unit: "s", "the length of what was recorded") {
        .live { [.double(Double(recorder.frames) / rate)] }
      },
      .parameter(
        "gain", range: -120...36, unit: "dB", "the gain of the input",
        { .float(decibels(recorder.gain, atLeast: -120)) },
        { recorder.gain = factor(decibels: $0.decimal) }),
    ]
    if keys.canWait {
      for path in ["armed", "\(name)/armed"] {
        controls.append(
          .flag(
            path, "whether sound and the transport start the recording", { keys.isArmed },
            { keys.isArmed = $0 }))
      }
    }
    return controls + CommandControl.client(device, quit: keys.quit) + [
      .state("\(name)/name", types: "s", "the file that is written, or the latest one") {
        .string(printable(monitor.path))
      },
      .state("\(name)/failure", types: "s", "why the recording has failed") {
        .string(recorder.failure ?? "")
      },
      .meter(
        "\(name)/peak", types: String(repeating: "f", count: channels), unit: "dB",
        "the peaks of the input"
      ) { .values(monitor.peaks(channels).map { .float($0) }) },
    ]
  }
}

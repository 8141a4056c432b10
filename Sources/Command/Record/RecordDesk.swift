import AudioQueue
import Files
import RealTime
import Sessions

/// The actions of the keys of `cuejack record`. Main thread.
final class RecordDesk {
  private let recorder: FileRecorder
  /// Frames of the markers.
  private var markers: [Int64] = []
  private(set) var isPaused = false
  /// True if q was pressed.
  private(set) var isAskedToQuit = false

  private static let help = "space  pause, go on    m  marker    q  end the recording"

  init(_ recorder: FileRecorder) { self.recorder = recorder }

  /// Carries out a key.
  func press(_ key: KeyReader.Key) {
    switch key {
    case .character(" "): togglePause()
    case .character("m"): addMarker()
    case .character("q"): isAskedToQuit = true
    case .character("?"): Screen.shared.say(Self.help)
    default: break
    }
  }

  private func togglePause() {
    do throws(QueueError) {
      if isPaused { try recorder.resume() } else { try recorder.pause() }
      isPaused.toggle()
    } catch {
      Screen.shared.remark("cannot \(isPaused ? "go on" : "pause") now: \(error)")
    }
  }

  private func addMarker() {
    guard let frame = recorder.queue.currentFrame, frame >= 0 else { return }
    markers.append(Int64(frame))
    let seconds = frame / recorder.queue.format.sampleRate
    Screen.shared.say("marker \(markers.count) at \(exactClock(seconds))")
  }

  /// Writes the markers into a file that is about to be closed. Prints a message if it has none.
  func writeMarkers(to file: any MediaFile) throws(SoundFileError) {
    guard !markers.isEmpty else { return }
    guard let chunks = file.chunked, var list = try chunks.markers() else {
      Screen.shared.remark("\(file.path): this kind of file has no markers: they are lost")
      return
    }
    list.markers = markers.enumerated().map { index, frame in
      MediaMarker(position: Double(frame), name: "\(index + 1)", id: Int32(index + 1))
    }
    try chunks.setMarkers(list)
  }
}

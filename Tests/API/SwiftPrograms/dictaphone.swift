// Records into a file, or plays one.
//
// Usage: dictaphone record FILE [SECONDS]
//        dictaphone play FILE

import AVFoundation
import Foundation

final class Dictaphone: NSObject, AVAudioRecorderDelegate, AVAudioPlayerDelegate {
  private var recorder: AVAudioRecorder?
  private var player: AVAudioPlayer?

  func record(to url: URL, for seconds: TimeInterval?) throws {
    let session = AVAudioSession.sharedInstance()
    try session.setCategory(.playAndRecord, mode: .default, options: [.defaultToSpeaker])
    try session.setActive(true)
    guard session.recordPermission == .granted else { return print("No permission") }
    let settings: [String: Any] = [
      AVFormatIDKey: Int(kAudioFormatMPEG4AAC),
      AVSampleRateKey: 48000,
      AVNumberOfChannelsKey: 2,
      AVEncoderAudioQualityKey: AVAudioQuality.high.rawValue,
    ]
    recorder = try AVAudioRecorder(url: url, settings: settings)
    recorder?.delegate = self
    recorder?.isMeteringEnabled = true
    let isRecording =
      if let seconds { recorder?.record(forDuration: seconds) } else { recorder?.record() }
    print("Recording: \(isRecording == true)")
    fflush(nil)
  }

  func stop() { recorder?.stop() }

  func play(_ url: URL) throws {
    try AVAudioSession.sharedInstance().setCategory(.playback)
    let player = try AVAudioPlayer(contentsOf: url)
    player.delegate = self
    player.prepareToPlay()
    player.volume = 0.5
    print("Playing \(String(format: "%.2f", player.duration)) seconds: \(player.play())")
    self.player = player
  }

  func audioRecorderDidFinishRecording(_ recorder: AVAudioRecorder, successfully flag: Bool) {
    print("Recorded: \(flag)")
    exit(flag ? 0 : 1)
  }

  func audioPlayerDidFinishPlaying(_ player: AVAudioPlayer, successfully flag: Bool) {
    print("Played: \(flag)")
    exit(flag ? 0 : 1)
  }
}

let arguments = CommandLine.arguments
guard arguments.count > 2 else {
  print("Usage: dictaphone record FILE [SECONDS] | play FILE")
  exit(2)
}
let url = URL(fileURLWithPath: arguments[2])
let dictaphone = Dictaphone()
signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
termination.setEventHandler { dictaphone.stop() }
termination.resume()
do {
  if arguments[1] == "record" {
    try dictaphone.record(to: url, for: arguments.count > 3 ? TimeInterval(arguments[3]) : nil)
  } else {
    try dictaphone.play(url)
  }
} catch {
  print("Error: \(error.localizedDescription)")
  exit(1)
}
RunLoop.main.run()

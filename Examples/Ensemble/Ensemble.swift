// Starts sound files on one frame: all files of a program, and those of several programs that are given one moment.
//
// Usage: ensemble [--at HOST-TIME] FILE ...
//        ensemble --in SECONDS
//
// The second form prints the host time of a moment that lies ahead. A script hands it to programs that start together:
//   at=$(ensemble --in 2); ensemble --at $at drums.wav & ensemble --at $at bass.wav voice.wav
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it.

import AVFoundation

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("ensemble: \(text)\n".utf8))
  exit(code)
}

func hostTime(in seconds: Double) -> UInt64 {
  mach_absolute_time() + AVAudioTime.hostTime(forSeconds: seconds)
}

var paths = Array(CommandLine.arguments.dropFirst())
if paths.count == 2, paths[0] == "--in", let seconds = Double(paths[1]),
  (0...3600).contains(seconds)
{
  print(hostTime(in: seconds))
  exit(0)
}
var moment: UInt64?
if paths.count > 2, paths[0] == "--at" {
  moment = UInt64(paths[1])
  if moment == nil { fail("“\(paths[1])” is no host time", code: 64) }
  paths.removeFirst(2)
}
if paths.isEmpty { fail("usage: ensemble [--at HOST-TIME] FILE ...", code: 64) }

do {
  let engine = AVAudioEngine()
  let over = DispatchGroup()
  var players: [AVAudioPlayerNode] = []
  for path in paths {
    let file = try AVAudioFile(forReading: URL(fileURLWithPath: path))
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: file.processingFormat)
    over.enter()
    player.scheduleFile(file, at: nil, completionCallbackType: .dataPlayedBack) { _ in over.leave()
    }
    players.append(player)
  }
  try engine.start()
  let start = AVAudioTime(hostTime: moment ?? hostTime(in: 0.2))
  for player in players { player.play(at: start) }
  over.wait()
  engine.stop()
} catch {
  fail(error.localizedDescription)
}

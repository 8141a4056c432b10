import ArgumentParser
import Files
import PluginHost
import System

/// The file of `--midi`, ready to be played at a sample rate.
struct MIDISong {
  let track: MIDITrack
  /// Frames to the file's last event.
  let frames: Int

  /// Reads the file. Prints an error and ends the command on failure.
  init(_ path: String, sampleRate: Double) throws {
    do throws(MIDIFileError) {
      let file = try MIDIFile(path: path)
      track = MIDITrack(
        named: fileName(path),
        file.messages.map { message in
          MIDITrack.Message(
            frame: file.frame(at: message.time, sampleRate: sampleRate), offset: message.offset,
            count: message.count)
        }, bytes: file.bytes)
      frames = Int(file.frame(at: file.end, sampleRate: sampleRate))
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
  }
}

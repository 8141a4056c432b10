import AudioToolbox
import Foundation
import Hardware
import Logging
import Server
import System

// The engine as a client of JACK. Apple's classes have none of this.

extension AVAudioEngine {
  /// Creates an engine without nodes for a JACK server.
  ///
  /// - Parameters:
  ///   - jackServerName: The server; nil for the default one.
  ///   - jackClientName: The name of the engine's client; nil for that of the program.
  public convenience init(jackServerName: String?, jackClientName: String? = nil) {
    let server = JackServer(named: jackServerName)
    self.init(device: HardwareDevice(server, named: server.name, clientName: clientName))
    if let jackClientName { self.jackClientName = jackClientName }
  }

  /// The name of the engine's client, by which programs such as qjackctl show it. JACK changes a name that another
  /// client has, and shortens one that is too long. Set it before the first `start`: a client that has begun keeps its
  /// name. So does one that would get no name, or one with a colon, which JACK puts before the names of ports. The log
  /// tells of it.
  public var jackClientName: String {
    get { live.device.clientName }
    set {
      if newValue.isEmpty || newValue.contains(":") {
        log.warning("AVAudioEngine.jackClientName: no client of JACK can be called “\(newValue)”")
      } else if !live.device.setClientName(newValue) {
        log.warning(
          "AVAudioEngine.jackClientName: the client “\(jackClientName)” has begun, and keeps its name"
        )
      }
    }
  }

  /// The name of the engine's JACK server.
  public var jackServerName: String { live.device.serverName }

  /// The beginning of the latest cycle: its sample time counts the server's frames, its host time nanoseconds of
  /// `CLOCK_MONOTONIC`. Nil while the engine does not run in its client.
  ///
  /// Players of several programs that are given one host time start on one frame, and on jackd those that are given one
  /// sample time, at the server's rate. On PipeWire each client counts its own frames.
  public var jackTime: AVAudioTime? {
    isInManualRenderingMode || !live.hasRoot ? nil : outputNode.lastRenderTime
  }
}

extension AVAudioIONode {
  /// The names of the JACK ports of the node, such as `program:out_1`, a channel each; none while the engine does not run.
  public var jackPortNames: [String] {
    guard let engine, engine.live.isRunning else { return [] }
    let names = engine.live.device.portNames
    return self is AVAudioInputNode ? names.inputs : names.outputs
  }
}

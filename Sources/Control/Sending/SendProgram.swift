import FoundationEssentials
import Glibc
package import Server
package import Sessions
import System

/// The program that sends sound to a receiver, and the words of its command line.
package struct SendProgram: Sendable {
  let receiver: SessionReceiver
  /// Path of the program.
  let path: String
  private let server: String?

  /// Finds the program for a receiver.
  ///
  /// - Parameter client: A client of the server to which the program connects.
  package init(for receiver: SessionReceiver, on client: any ServerClient) throws(SendError) {
    self.receiver = receiver
    server = client.isPipeWire ? nil : client.serverName
    let (name, package) =
      receiver.kind == .zita ? ("zita-j2n", "zita-njbridge") : ("pipewire", "pipewire-bin")
    if receiver.kind == .rtp, !client.isPipeWire {
      throw .needsPipeWire(receiver, server: client.serverName)
    }
    guard let path = findProgram(name) else { throw .noProgram(name, package: package) }
    self.path = path
  }

  /// The program's own name.
  var name: String { fileName(path) }

  /// Asks the resolver for the receiver's host, which may take seconds.
  package func findHost() throws(SendError) {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>? = nil
    let status = unsafe getaddrinfo(receiver.host, nil, &hints, &list)
    guard status == 0 else {
      throw .noHost(receiver, reason: unsafe String(cString: gai_strerror(status)))
    }
    unsafe freeaddrinfo(list)
  }

  /// Returns the words of the command line. The program ends with the thread that starts it.
  ///
  /// - Parameters:
  ///   - client: The name of the program's JACK client.
  ///   - configuration: Path of the file that PipeWire's process reads.
  func words(client: String, channels: Int, configuration: String) -> [String] {
    let guardian = findProgram("setpriv").map { [$0, "--pdeathsig", "TERM", "--"] } ?? []
    switch receiver.kind {
    case .zita:
      return guardian + [path, "--jname", client]
        + (server.map { ["--jserv", $0] } ?? [])
        + ["--chan", "\(channels)", "--float", receiver.host, "\(receiver.port)"]
        + (receiver.interface.map { [$0] } ?? [])
    case .rtp: return guardian + [path, "-c", configuration]
    }
  }

  /// Writes the file that PipeWire's process reads.
  func configure(client: String, channels: Int, sampleRate: Double, at file: String) {
    guard receiver.kind == .rtp else { return }
    let positions =
      switch channels {
      case 1: "MONO"
      case 2: "FL FR"
      default: (0..<channels).map { "AUX\($0)" }.joined(separator: " ")
      }
    let interface = receiver.interface.map { "local.ifname = \"\($0)\"" } ?? ""
    let name = client.filter { $0 != "\"" && $0 != "\\" }
    let text = """
      context.properties = { log.level = 1 }
      context.spa-libs = {
        audio.convert.* = audioconvert/libspa-audioconvert
        support.* = support/libspa-support
      }
      context.modules = [
        { name = libpipewire-module-rt flags = [ ifexists nofail ] }
        { name = libpipewire-module-protocol-native }
        { name = libpipewire-module-client-node }
        { name = libpipewire-module-adapter }
        { name = libpipewire-module-rtp-sink
          args = {
            destination.ip = "\(receiver.host)" destination.port = \(receiver.port) \(interface)
            sess.name = "\(name)" audio.format = "S24BE" audio.rate = \(Int(sampleRate))
            audio.channels = \(channels) audio.position = [ \(positions) ]
            stream.props = {
              node.name = "\(name)" node.description = "\(name)" node.autoconnect = false
            }
          }
        }
      ]

      """
    try? text.write(toFile: file, atomically: true, encoding: .utf8)
  }
}

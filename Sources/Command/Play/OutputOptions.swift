import ArgumentParser
import Control
import Server
import Sessions

/// Options of `cuejack play` for where its sound goes, and when it comes there.
struct OutputOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Delay the output, up to 2 s, to line speakers up.",
      discussion: """
        The sound is late on purpose: JACK is not told of it as a latency. All files share one client then. \
        `cuejack set CLIENT delay=12.5` changes the delay, in milliseconds, while the files play.
        """, valueName: "time"),
    transform: TimeValue.init(parsing:))
  var delay: TimeValue?

  @Option(
    help: ArgumentHelp(
      "Send the sound to another machine, too. Repeatable.",
      discussion: """
        HOST:PORT is that of a zita-n2j (Debian's package zita-njbridge); a multicast address needs the interface, \
        as in 239.1.2.3:9700@eth0. On PipeWire, rtp://ADDRESS:PORT is that of its RTP source. The program \
        that sends is a JACK client, which is started, connected, started again if it ends, and ended.
        """, valueName: "host:port"),
    transform: Self.receiver)
  var sendTo: [SessionReceiver] = []

  /// The options that may be given once.
  static let singleOptions = ["--delay"]
  /// The most frames that a delay of two seconds has.
  private static let mostFrames: Int64 = 384_000

  private static func receiver(_ text: String) throws -> SessionReceiver {
    guard let receiver = SessionReceiver(text) else {
      throw ValidationError("“\(text)” is no receiver: \(SessionReceiver.form)")
    }
    return receiver
  }

  func validate() throws {
    switch delay {
    case .seconds(let seconds)?:
      try check(seconds * 1000 <= SessionShape.delays.upperBound, "--delay takes up to 2s")
    case .frames(let frames)?:
      try check(frames <= Self.mostFrames, "--delay takes up to 2s, or \(Self.mostFrames)f")
    case nil: break
    }
  }
}

/// The programs that send the sound of `cuejack play` to other machines.
struct PlaySenders {
  private var senders: [NetworkSender] = []

  /// Starts the programs, and waits until they send. Prints an error and ends the command if one of them does not.
  ///
  /// - Parameter ports: The ports of each client whose sound is sent.
  init(
    _ receivers: [SessionReceiver], _ ports: [(device: Device, names: [String])],
    isStopped: () -> Bool
  ) throws {
    guard let device = ports.first?.device else { return }
    let channels = max(ports.map(\.names.count).max() ?? 1, 2)
    do throws(SendError) {
      for (index, receiver) in receivers.enumerated() {
        let program = try SendProgram(for: receiver, on: device.client)
        try program.findHost()
        senders.append(
          NetworkSender(
            "--send-to \(receiver)", program,
            client: SessionDocument.clientName(
              for: "\(device.client.name)-send" + (index == 0 ? "" : "-\(index + 1)")),
            channels: channels, on: device,
            connect: { inputs in
              for (device, names) in ports {
                // A single channel is heard on both sides.
                for (i, input) in inputs.prefix(max(2, names.count)).enumerated() {
                  device.connectAgain(names[i % names.count], to: input)
                }
              }
            }, onMessage: { Screen.shared.remark($0) }))
      }
    } catch {
      end()
      Screen.shared.complain("--send-to: \(error)")
      throw ExitCode.failure
    }
    for (sender, receiver) in zip(senders, receivers) {
      let state = sender.awaitState(isStopped: isStopped)
      if case .failed(let reason) = state {
        end()
        Screen.shared.complain("--send-to \(receiver): \(reason)")
        throw ExitCode.failure
      }
      Screen.shared.say("sends to \(receiver): client \(sender.clientName)")
    }
  }

  func end() { for sender in senders { sender.end() } }
}

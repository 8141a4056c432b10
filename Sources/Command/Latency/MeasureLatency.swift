import ArgumentParser
import Dispatch
import Graph
import Server
import System

/// `cuejack measure-latency`: measures how long sound takes through a loop.
struct MeasureLatency: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "measure-latency",
    abstract: "Measure how long sound takes through a loop of ports.",
    discussion: """
      Plays a burst of noise on one port and looks for it on another one, by correlation, to the frame: a cable \
      from the output of the sound card to its input, or a program in between. Prints the round trip, the part \
      of it that JACK knows from the latencies of the ports, and the rest: half of it is for jackd's -I, the other \
      half for -O. The noise is repeated; the median counts, and a message tells if the rounds differ.

      On a server where this command is within a loop of JACK connections, as with a plugin host between the ports, \
      the round trip has one more period: JACK delays a loop by that.

      The exit code is 0 if the noise came back, 1 if not or if it is lost in other sound, 64 for wrong usage, and \
      130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the command.
      """
        + examples(
          "cuejack measure-latency                            # from the card's first output to its first input",
          "cuejack measure-latency --output system:playback_3 --input system:capture_2 --level -20dB"
        ))

  @Option(
    help: ArgumentHelp(
      "The port on which the noise is played. Default: the first one of the sound card that plays.",
      valueName: "port"), completion: .audioPorts)
  var output: String?

  @Option(
    help: ArgumentHelp(
      "The port from which the noise comes back. Default: the first one of the sound card that records.",
      valueName: "port"), completion: .audioPorts)
  var input: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The level of the noise: a factor or decibels, up to full scale. Default: -12dB.",
      valueName: "gain"), transform: GainValue.init(parsing:))
  var level = GainValue(factor: 0.25)

  @OptionGroup var server: ServerOption

  @Option(help: "The name of the JACK client. Default: cuejack-latency.")
  var name: String?

  @Flag(help: "Print a JSON object.")
  var json = false

  @OptionGroup var log: LogOption

  func validate() throws {
    try checkOnce(["--output", "--input", "--level", "--name"])
    try checkClientName(name)
    try check(level.factor > 0 && level.factor <= 1, "--level takes a gain up to full scale (0dB)")
  }

  func run() throws {
    server.jack().joinPipeWire()
    let signals = StopSignals {}
    log.start()
    let measurement: LoopMeasurement
    do {
      measurement = try LoopMeasurement(self, isStopped: { signals.received != nil })
    } catch {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    for remark in measurement.remarks { Screen.shared.remark(remark) }
    if json { return try printJSON(measurement.report) }
    for line in measurement.report.lines { Screen.shared.say(line) }
  }
}

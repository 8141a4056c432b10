import Foundation
import TestSupport
import Testing

/// Checks that `make bench` completes and reports all results. The tests do not judge the figures.
@Suite(.tags(.program), .serialized) struct BenchmarkTests {
  /// Returns all numbers inside a JSON value, but for the noise, which is 0 where a single run was measured.
  private func numbers(in value: Any) -> [Double] {
    switch value {
    case let list as [Any]: list.flatMap(numbers)
    case let object as [String: Any]:
      object.filter { $0.key != "noise" }.values.flatMap(numbers)
    case let number as NSNumber: [number.doubleValue]
    default: []
    }
  }

  private static let plots = [
    "graph", "chains", "queues-cycle", "queues-processor", "queues-memory", "files", "engines",
  ]

  /// A short run of the bench: its table, and its results.
  private static let measured = Result {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("results.json")
      let result = try run(
        builtProduct(named: "cuejack-bench").path,
        ["--quick", "--json", file.path, "--plots", folder.path], timeout: 300)
      guard result.status == 0 else { throw SupportError(result.errors) }
      for plot in plots {
        let svg = try String(
          contentsOf: folder.appendingPathComponent("\(plot).svg"), encoding: .utf8)
        // A curve is a line of two pixels.
        guard svg.contains("<svg ") && svg.contains(#/stroke-width[:=]"?2\b/#) else {
          throw SupportError("\(plot).svg has no curve: \(svg)")
        }
      }
      return (table: result.output, results: try Data(contentsOf: file))
    }
  }

  /// A build against itself: each figure with its noise and a verdict.
  @Test(.enabled(if: !isSanitized)) func buildsAreCompared() throws {
    let bench = try builtProduct(named: "cuejack-bench").path
    let result = try run(
      bench, ["--quick", "--only", "graph", "engines", "--before", bench], timeout: 300)
    expectEqual(result.status, 0, result.errors)
    let lines = result.output.split(separator: "\n").map(String.init)
    let figures = lines.filter { $0.hasPrefix("graphs ") || $0.hasPrefix("engines ") }
    expectTrue(
      figures.contains {
        $0.hasPrefix("graphs 1 (1 64 chain) cycleNanoseconds ")
          && $0.firstMatch(of: #/ [\d.]+ +[\d.]+ +\d+\.\d\d +\d+ %  (-|slower|faster)$/#) != nil
      }, result.output)
    expectTrue(lines.contains { $0.firstMatch(of: #/^\d+ figures, (none|\d+) beyond/#) != nil })
  }

  @Test(.enabled(if: !isSanitized)) func everyRowIsMeasured() throws {
    let results = try Self.measured.get().results
    let report = try require(JSONSerialization.jsonObject(with: results) as? [String: Any])

    let cycles = try require(report["cycles"] as? [[String: Any]])
    let measured = Set(cycles.map { "\($0["format"]!) \($0["channels"]!) \($0["period"]!)" })
    let wanted = ["s16 1", "s16 2", "s16 8", "s24 2", "f32 1", "f32 2", "f32 8"]
      .flatMap { ["\($0) 64", "\($0) 256"] }
    expectTrue(measured == Set(wanted) && cycles.count == wanted.count)
    // Check one queue only: the cost of a further one is a difference, which is arbitrary after a few
    // rounds.
    for cycle in cycles {
      let found = numbers(in: cycle["oneQueue"]!)
      expectTrue(found.count == 6 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(cycle)")
      let recording = numbers(in: cycle["recording"]!)
      expectTrue(recording.count == 6 && recording.allSatisfy { $0.isFinite && $0 > 0 }, "\(cycle)")
      let noise =
        ((cycle["oneQueue"] as? [String: Any])?["cycleNanoseconds"] as? [String: Double])?["noise"]
      try expectTrue(require(noise).isFinite)
      let further = numbers(in: cycle["furtherQueue"]!)
      expectTrue(further.count >= 4 && further.allSatisfy(\.isFinite), "\(cycle)")
    }

    let players = try require(report["players"] as? [[String: Any]])
    expectEqual(
      players.map { "\($0["program"]!) \($0["seconds"]!)" },
      ["cuejack play", "sndfile-jackplay", "mpv", "ecasound"].map { "\($0) 2" })
    for player in players {
      let found = numbers(in: player)
      expectTrue(found.count == 11 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(player)")
    }
    let starvations = try require(report["starvations"] as? [[String: Any]])
    expectEqual(
      starvations.map { "\($0["rate"]!) \($0["isBusy"]!)" },
      [
        "48000 0", "44100 0", "48000 1", "44100 1",
      ])
    let renders = try require(report["renders"] as? [[String: Any]])
    let programs = ["AudioQueueOfflineRender", "cuejack convert", "sox", "ffmpeg"]
    // Not every distribution has lv2file.
    expectEqual(
      renders.map { $0["program"] as! String }.filter { $0 != "lv2file" },
      programs + programs + ["cuejack play --render", "ecasound"])
    for render in renders {
      let found = numbers(in: render)
      expectTrue(found.count == 6 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(render)")
    }
    let codecs = try require(report["codecs"] as? [[String: Any]])
    expectEqual(
      codecs.map { $0["program"] as? String }, (0..<10).flatMap { _ in ["Cuejack", "ffmpeg"] })
    expectEqual(Set(codecs.map { $0["work"] as? String }).count, 10)
    for codec in codecs {
      let found = numbers(in: codec)
      expectTrue(found.count == 6 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(codec)")
    }
    let graphs = try require(report["graphs"] as? [[String: Any]])
    expectEqual(graphs.count, 8)
    let shapes = Set(graphs.map { "\($0["shape"]!) \($0["count"]!) \($0["period"]!)" })
    expectEqual(shapes.count, 8)
    for graph in graphs {
      let found = numbers(in: graph)
      expectEqual(found.count, (graph["count"] as? Int == 1 ? 6 : 7), "\(graph)")
      expectTrue(found.allSatisfy { $0.isFinite }, "\(graph)")
    }
    let chains = try require(report["chains"] as? [[String: Any]])
    let hosts = [
      "floor", "Cuejack", "audio units", "AVAudioEngine", "ecasound", "jalv", "floor, by hand",
      "Cuejack, by hand", "units, by hand",
    ]
    expectEqual(
      chains.map { "\($0["host"]!) \($0["count"]!)" }, hosts.flatMap { ["\($0) 1", "\($0) 2"] })
    for chain in chains {
      let microseconds = chain["microseconds"] as? [String: Double] ?? [:]
      expectTrue(microseconds["least"] ?? 0 > 0, "\(chain)")
      // The cost of one more plugin is arbitrary after so few cycles.
      expectEqual((chain["each"] != nil), (chain["count"] as? Int == 2), "\(chain)")
      let isFloor = (chain["host"] as? String)?.hasPrefix("floor") == true
      expectEqual((chain["beyondFloor"] != nil), (chain["each"] != nil && !isFloor), "\(chain)")
    }
    let mixes = try require(report["mixes"] as? [[String: Any]])
    let loading = Array(hosts.prefix(6))
    expectEqual(mixes.map { $0["host"] as? String }, loading)
    // No plugins side by side for the floor and for jalv.
    let loaded = mixes.filter { $0["missing"] == nil }
    expectEqual(
      loaded.map { $0["host"] as? String }, Array(loading.dropFirst().dropLast()))
    for mix in loaded {
      for sound in ["noise", "silence", "denormals"] {
        let load = mix[sound] as? [String: Any] ?? [:]
        let microseconds = load["microseconds"] as? [String: Double] ?? [:]
        expectTrue(
          microseconds["least"] ?? 0 > 0 && load["load"] as? Double ?? -1 >= 0,
          "\(sound) in \(mix)")
      }
    }
    let latencies = try require(report["latencies"] as? [[String: Any]])
    expectEqual(
      latencies.map { "\($0["period"]!) \($0["path"]!)" },
      [
        "4096 C client, a flag", "4096 queue", "4096 queue, resampled from 44.1 kHz",
      ])
    for (i, latency) in latencies.enumerated() {
      let order = ["least", "median", "almostAll", "most"].map { latency[$0] as? Double ?? .nan }
      expectTrue(order == order.sorted() && order.allSatisfy(\.isFinite), "\(latency)")
      // A busy machine misses some.
      expectTrue((1...(i == 0 ? 6 : 3)).contains(latency["count"] as? Int ?? 0), "\(latency)")
      let floor = latency["againstFloor"] as? [String: Any]
      expectEqual((floor == nil), (i == 0), "\(latency)")
      if let floor {
        let found = numbers(in: floor)
        // Without the ratio, if the cycles were late.
        expectTrue((2...3).contains(found.count) && found.allSatisfy(\.isFinite), "\(latency)")
        expectTrue((0...1).contains(floor["sameCycle"] as? Double ?? -1), "\(latency)")
      }
    }

    let queues = try require(report["queues"] as? [[String: Any]])
    expectEqual(queues.map { $0["queues"] as? Int }, [1, 5, 10])
    for (i, row) in queues.enumerated() {
      let cycle = numbers(in: row["cycle"]!)
      expectTrue(cycle.count == 5 && cycle.allSatisfy { $0.isFinite && $0 > 0 }, "\(row)")
      let playing = try require(row["playing"] as? [String: Any])
      // The memory growth includes the three buffers of 4,096 four-byte frames.
      let buffers = Double(row["queues"] as! Int * 3 * 4096 * 4) / 1024
      expectEqual(playing["bufferKilobytes"] as? Double, buffers)
      for memory in ["proportionalKilobytes", "residentKilobytes"] {
        let kilobytes = playing[memory] as? Double ?? 0
        expectTrue(kilobytes > buffers, "\(row)")
      }
      for what in ["processorMilliseconds", "callbacks", "threads"] {
        let found = numbers(in: playing[what] as Any? ?? [Any]())
        expectTrue(!found.isEmpty && found.allSatisfy { $0 > 0 }, "\(what) in \(row)")
      }
      let each = numbers(in: row["each"] as Any? ?? [Any]())
      let slopes = i == 0 ? 0 : 6
      expectEqual(each.count, slopes, "\(row)")
      expectTrue(each.allSatisfy { $0.isFinite }, "\(row)")
    }

    let files = try require(report["files"] as? [[String: Any]])
    expectEqual(files.map { $0["files"] as? Int }, [1, 17])
    for row in files {
      let found = numbers(in: row)
      expectTrue(found.count == 8 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(row)")
    }
    let recordings = try require(report["recordings"] as? [[String: Any]])
    let recorders = recordings.map { $0["program"] as! String }
    // Not every distribution has jack_capture.
    expectEqual(
      recorders.filter { $0 != "jack_capture" }, ["cuejack record", "jack_rec"], "\(recorders)")
    for row in recordings {
      let found = numbers(in: row)
      expectTrue(found.count == 10 && found.allSatisfy { $0.isFinite && $0 >= 0 }, "\(row)")
    }
    let threads = try require(report["threads"] as? [[String: Any]])
    expectEqual(threads.map { $0["plugin"] as? String }, ["fil4", "triplePara", "eg-amp"])
    for row in threads {
      let found = numbers(in: row)
      expectTrue(found.count == 9 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(row)")
    }
    let engines = try require(report["engines"] as? [[String: Any]])
    expectEqual(engines.map { $0["players"] as? Int }, [1, 2, 2])
    for row in engines {
      let found = numbers(in: row)
      expectTrue(found.count == 9 && found.allSatisfy { $0.isFinite && $0 >= 0 }, "\(row)")
    }

    let tails = try require(report["tails"] as? [[String: Any]])
    expectEqual(
      tails.map { $0["program"] as? String },
      [
        "a C client alone", "cuejack session run", "ecasound",
      ])
    for row in tails {
      // ecasound may stay silent on a busy machine.
      if row["program"] as? String == "ecasound", let missing = row["missing"] as? String {
        expectTrue(missing.contains("not heard"))
        continue
      }
      let tail = try require(row["tail"] as? [String: Any], "\(row)")
      let cycles = ["median", "of999In1000", "longest"].map { tail[$0] as? Double ?? .nan }
      expectTrue(
        cycles == cycles.sorted() && cycles[0] > 0 && tail["cycles"] as? Int ?? 0 > 0, "\(row)")
    }

    let synths = try require(report["synths"] as? [[String: Any]])
    expectEqual(synths.first?["program"] as? String, "cuejack fx")
    for row in synths {
      let found = numbers(in: row)
      expectTrue(found.count >= 5 && found.allSatisfy { $0.isFinite && $0 > 0 }, "\(row)")
    }

    let rates = try require(report["rates"] as? [[String: Any]])
    let converters = [
      "cuejack convert, high", "cuejack convert, max", "zita-resampler", "sox rate -v",
      "ffmpeg, soxr",
    ]
    expectEqual(rates.map { $0["program"] as? String }, converters + converters)
    for row in rates {
      // All have 20 bits and pass what is heard.
      expectTrue(row["signalToNoise"] as? Double ?? 0 > 115, "\(row)")
      expectTrue(row["passband"] as? Double ?? 0 > 19, "\(row)")
      expectTrue(row["rejection"] as? Double ?? 0 > 100, "\(row)")
    }
    let idle = try require(report["idle"] as? [[String: Any]])
    expectEqual(idle.count, 6)
    for row in idle { expectTrue(numbers(in: row).allSatisfy { $0.isFinite }, "\(row)") }

    let machine = try require(report["machine"] as? [String: Any])
    expectTrue(machine["cores"] as? Int ?? 0 > 0)
    for fact in ["processor", "kernel"] { expectTrue(machine[fact] as? String ?? "" != "") }
  }

  @Test(.enabled(if: !isSanitized)) func theTableHasALineForEachRow() throws {
    let table = try Self.measured.get().table
    let lines = table.split(separator: "\n")
    /// The number of lines with a match.
    func count(_ line: some RegexComponent) -> Int { lines.count { $0.contains(line) } }
    expectEqual(
      count(#/^[sf]\d\d +\d+ +\d+ +[\d.]+ \([\d.]+-[\d.]+\) ns +[\d.]+ ns +[\d.]+ +\S/#), 14,
      "\(table)")
    expectEqual(
      count(#/^(cuejack|sndfile|mpv|ecasound).* \d+ s( +[\d.]+ \([\d.]+-[\d.]+\)){3}$/#), 4)
    expectTrue(
      [10, 11].contains(
        count(#/^s16 .* \d+ s +[\d.]+ \([\d.]+-[\d.]+\) ms +[\d.]+ M +[\d.]+$/#)))
    expectEqual(
      count(
        #/code +(Cuejack|ffmpeg) +\d+ s +[\d.]+ \([\d.]+-[\d.]+\) ms +\d+ x +[\d.]+$/#), 20)
    expectEqual(count(#/^ +\d+  (C client|queue).* \d+ +\d+( +-?[\d.]+){8}/#), 3)
    expectEqual(count(#/^\d+ .* ms( +\d+){2}( +-?[\d.]+ MB){3} +\d+ +\d+$/#), 3)
    expectEqual(count(#/^\d+ to \d+ .* µs( +-?[\d.]+ kB){4}$/#), 2)
    expectEqual(
      count(
        #/^(floor|Cuejack|ecasound|jalv)[, a-z]* +[12] +[\d.]+ \([\d.]+-[\d.]+\) µs .*\d$/#), 12)
    expectEqual(
      count(
        #/^8 equalisers .* (Cuejack|ecasound)( +[\d.]+ \([\d.]+-[\d.]+\) µs +[\d.]+ %){3}/#), 2)
    expectEqual(count(#/^  ratio( +[\d.]+){3}$/#), 3)
    expectEqual(
      count(#/^\d+ to \d+ Hz .* ms( +\d+ dB)( +[\d.]+ kHz)( +\d+ dB)$/#), 10)
    // The slope of a plot's curve.
    expectTrue(lines.contains { $0.hasPrefix("A graph's cycle") && $0.contains("what each adds") })
    expectEqual(count(#/^  mixer, plain loop +-?[\d.e+-]+$/#), 1)
  }
}

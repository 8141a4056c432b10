import FoundationEssentials
import Glibc

/// A task for a validator process: one line of JSON on its standard input.
struct ProbeTask: Codable {
  enum Kind: Codable {
    /// Read a bundle and describe its plugins, with the classes that LV2's own bundle names.
    case bundle(String, vocabulary: String?)
    /// Validate a plugin.
    case plugin(uri: String, ValidationLength)
  }
  var kind: Kind
  /// Folders of bundles; nil for LV2_PATH or lilv's default.
  var path: String?
}

/// A line of JSON from a validator process: any number of phases, then one answer.
enum ProbeLine: Codable {
  /// The step that the plugin is in.
  case phase(String)
  case plugin(ValidationReport)
  case bundle(BundleReport)
}

/// The child process of a `PluginValidator`. A plugin may crash it.
package enum Probe {
  /// Performs the tasks on standard input and answers on standard output until the input ends. Output
  /// of plugins and lilv goes to standard error.
  package static func serve() {
    let answers = dup(1)
    dup2(2, 1)
    // The parent reports a crash, so no core file is needed.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    endWithHost(at: 0)
    let encoder = JSONEncoder()
    func answer(_ line: ProbeLine) {
      guard var bytes = try? encoder.encode(line) else { return }
      bytes.append(UInt8(ascii: "\n"))
      unsafe bytes.withUnsafeBytes { buffer in
        var done = 0
        while done < buffer.count {
          let count = unsafe write(answers, buffer.baseAddress! + done, buffer.count - done)
          if count <= 0 { exit(1) }
          done += count
        }
      }
    }
    var world: (path: String?, world: World)?
    while let line = readLine() {
      guard let task = try? JSONDecoder().decode(ProbeTask.self, from: Data(line.utf8)) else {
        return
      }
      switch task.kind {
      case .bundle(let path, let vocabulary):
        answer(.bundle(read(path, vocabulary) { answer(.phase($0)) }))
      case .plugin(let uri, let length):
        if world == nil || world?.path != task.path { world = (task.path, World(path: task.path)) }
        answer(
          .plugin(
            PluginValidation.run(uri, in: world!.world, length) { answer(.phase($0)) }))
      }
    }
    ScratchFolder.removeGiven()
  }

  private static func read(
    _ path: String, _ vocabulary: String?, phase: (String) -> Void
  ) -> BundleReport {
    let scan = Scan(bundle: path, vocabulary: vocabulary)
    var report = BundleReport()
    if scan.hasDynamicManifest {
      report.problems.append("more of it is told by a library (dynmanifest), which is not run")
    }
    for uri in scan.uris {
      phase("describes <\(uri)>")
      guard let plugin = scan.description(of: uri) else { continue }
      report.plugins.append(
        PluginSummary(
          uri: uri, name: plugin.name, className: plugin.className, author: plugin.author))
      report.problems += plugin.problems.map { "<\(uri)>: \($0)" }
      report.problems += plugin.remarks.map { "<\(uri)>: \($0): left out" }
    }
    return report
  }
}

import ArgumentParser

/// The options that choose which plugins run in processes of their own.
struct IsolationOptions: ParsableArguments {
  @Option(
    name: .customLong("isolate"),
    help: ArgumentHelp(
      "Run this plugin in a process of its own. Repeatable; “all” isolates every plugin.",
      discussion: """
        If the plugin crashes or hangs, the command reports it, bypasses it without a gap, and exits with \
        code 1 in the end. The process can use neither the network nor other programs, and of the files \
        only those of plugins and of the system; a plugin with a parameter for files may read them all. \
        Isolation adds one period of latency.
        """,
      valueName: "plugin"),
    completion: .isolatedPlugins)
  var isolated: [String] = []

  @Option(
    name: .customLong("trust"),
    help: ArgumentHelp(
      "Let this isolated plugin use the network, programs and all of your files. Repeatable; or “all”.",
      valueName: "plugin"),
    completion: .isolatedPlugins)
  var trusted: [String] = []

  /// Ends the command with a usage error if a value selects no plugin, or one that is not isolated.
  func checkNames(among plugins: [PluginOption]) throws {
    let installed = InstalledNames()
    for name in isolated {
      try check(
        plugins.contains { $0.isMeant(by: name, in: installed.catalog) },
        "--isolate \(name): no --plugin is that one")
    }
    for name in trusted {
      try check(
        marking(plugins).contains { $0.isIsolated && $0.isMeant(by: name, in: installed.catalog) },
        "--trust \(name): no --plugin with --isolate is that one")
    }
  }

  /// Returns the plugins with the isolation that the options request.
  func marking(_ plugins: [PluginOption]) -> [PluginOption] {
    if isolated.isEmpty { return plugins }
    let installed = InstalledNames()
    return plugins.map { plugin in
      var plugin = plugin
      func isIn(_ names: [String]) -> Bool {
        names.contains { plugin.isMeant(by: $0, in: installed.catalog) }
      }
      plugin.isIsolated = isIn(isolated)
      plugin.isTrusted = isIn(trusted)
      return plugin
    }
  }
}

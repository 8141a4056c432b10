import Foundation
import TestSupport
import Testing

/// Programs of an ordinary user who may lock little memory, with a server of that user.
@Suite(.tags(.program)) struct MemoryLimitTests {
  /// Whether this process may become another user, with shared memory of its own.
  private static let isPermitted: Bool = {
    getuid() == 0 && (try? run("unshare", ["--mount", "setpriv", "--version"]))?.status == 0
  }()

  @Test(.enabled(if: isPermitted)) func aSmallLimitIsLeftToClients() throws {
    let binary = try ProgramBuilds.shared.get().build("memlock.c", isSanitized: false)
    let script = """
      mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit
      exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c '
        jackd -n memlock -r -d dummy -p 1024 >/dev/null 2>&1 & server=$!
        prlimit --memlock=65536:65536 "$0"; code=$?
        kill $server; wait $server; exit $code' "$0"
      """
    let result = try run(
      "unshare", ["--mount", "--propagation", "private", "sh", "-c", script, binary.path],
      environment: [
        "JACK_DEFAULT_SERVER": "memlock", "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
        "CUEJACK_LOG": "info",
      ])
    expectTrue(
      result.status == 0 && result.output == "ok as many queues as clients\n",
      "\(result.output)\(result.errors)")
    // Both that buffers are not locked, and why the last client is refused.
    expectTrue(
      result.errors.contains("buffers are not locked") && result.errors.contains("ulimit -l"),
      "\(result.errors)")
  }
}

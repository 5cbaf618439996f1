import { type FileHandle, open } from 'node:fs/promises'

/**
 * Makes new names in a directory durable: a name survives a power cut only after an fsync of its directory. Callers that
 * arrive during a sync share the next one, so many puts cost one fsync.
 */
export class DirectorySync {
  #handle: FileHandle
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(path: string) {
    return new DirectorySync(await open(path, 'r'))
  }

  /** Resolves when all names that were in the directory at the call are on the disk. */
  sync(): Promise<void> {
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning() {
    // A running sync may have started before the caller's name was there.
    await this.#running?.catch(() => {})
    this.#running = this.#next
    this.#next = undefined
    await this.#handle.sync()
  }

  async close() {
    await this.#next?.catch(() => {})
    await this.#running?.catch(() => {})
    await this.#handle.close()
  }
}

/** Resolves once the names in a directory are on the disk; for directories in which names are seldom made. */
export async function syncDirectory(path: string) {
  await using handle = await open(path, 'r')
  await handle.sync()
}

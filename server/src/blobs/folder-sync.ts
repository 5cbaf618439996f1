import { type FileHandle, open } from 'node:fs/promises'

/**
 * Makes new names in a folder durable: a name survives a power cut only once its folder was fsynced. Callers that come
 * while a sync is under way share the next one, so that many puts cost one fsync.
 */
export class FolderSync {
  #handle: FileHandle
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(path: string) {
    return new FolderSync(await open(path, 'r'))
  }

  /** Resolves when every name that was in the folder at the time of the call is on the disk. */
  sync(): Promise<void> {
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning() {
    // A sync that already runs may have begun before the caller's name was there.
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

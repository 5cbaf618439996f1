import { ImageUp } from 'lucide-react'
import { type ChangeEvent, useEffect, useRef, useState } from 'react'
import { ownPath } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useRemoveAvatar, useSetAvatar } from './account.ts'
import { drawSquare, pictureOf } from './picture.ts'

/** The picture next to the user's name, cropped and reduced in the browser. */
export function AvatarCard({ url }: { url: string }) {
  const [draft, setDraft] = useState<ImageBitmap>()
  const [unreadable, setUnreadable] = useState<string>()
  const input = useRef<HTMLInputElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const set = useSetAvatar()
  const remove = useRemoveAvatar()
  const path = ownPath(url)
  const isUploaded = !path.endsWith('.svg')
  const error = set.error ?? remove.error

  useEffect(() => {
    if (draft && canvas.current) drawSquare(canvas.current, draft)
    return () => draft?.close()
  }, [draft])

  async function choose({ target }: ChangeEvent<HTMLInputElement>) {
    const [file] = target.files ?? []
    // The same file may be selected again.
    target.value = ''
    if (!file) return
    setUnreadable(undefined)
    set.reset()
    try {
      setDraft(await createImageBitmap(file))
    } catch {
      setUnreadable(file.name)
    }
  }
  async function save() {
    if (!canvas.current) return
    const picture = await pictureOf(canvas.current)
    set.mutate(picture, {
      onSuccess: () => {
        setDraft(undefined)
        toast({ text: 'Picture saved' })
      },
    })
  }

  return (
    <Card title="Picture" about="Shown next to your name. Anyone who knows its address can open it.">
      <div className="flex flex-wrap items-center gap-4">
        {draft ? (
          <canvas ref={canvas} role="img" aria-label="The new picture" className="size-20 rounded-full" />
        ) : (
          <img src={path} alt="Your picture" className="size-20 rounded-full" />
        )}
        <input
          ref={input}
          type="file"
          accept="image/png,image/jpeg,image/webp"
          aria-label="Picture file"
          tabIndex={-1}
          className="sr-only"
          onChange={(event) => void choose(event)}
        />
        <div className="flex flex-wrap gap-2">
          {draft ? (
            <>
              <Button kind="primary" label="Save picture" isPending={set.isPending} onClick={() => void save()} />
              <Button kind="quiet" label="Cancel" onClick={() => setDraft(undefined)} />
            </>
          ) : (
            <>
              <Button icon={ImageUp} label="Select picture" onClick={() => input.current?.click()} />
              {isUploaded && (
                <Button
                  kind="quiet"
                  label="Remove picture"
                  isPending={remove.isPending}
                  onClick={() => remove.mutate(undefined, { onSuccess: () => toast({ text: 'Picture removed' }) })}
                />
              )}
            </>
          )}
        </div>
      </div>
      <div className="mt-3 empty:hidden">
        {unreadable !== undefined && (
          <Notice tone="bad" role="alert">
            {unreadable} is not a picture that this browser can read: select a PNG, JPEG or WebP file.
          </Notice>
        )}
        {error && <ErrorNote error={error} />}
      </div>
    </Card>
  )
}

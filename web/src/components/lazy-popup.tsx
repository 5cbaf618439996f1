import { type ReactNode, Suspense, useState } from 'react'

type LazyPopupProps = { isOpen: boolean; children: ReactNode }

/** Renders a lazily loaded popup from its first opening on, so that it also animates when it closes. */
export function LazyPopup({ isOpen, children }: LazyPopupProps) {
  const [wasOpened, setWasOpened] = useState(isOpen)
  if (isOpen && !wasOpened) setWasOpened(true)
  return (wasOpened || isOpen) && <Suspense>{children}</Suspense>
}

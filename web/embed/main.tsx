// <script src="https://HOST/embed.js" data-portal="slug" async></script>
//
// One script for pages of others: a button in the corner that opens the chat, in
// a shadow root that neither takes the page's styles nor gives it ours. The page
// may also place <belay-chat portal="slug"> where it wants the chat itself.
import { useEffect, useState } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import chatCss from '../shared/chat/chat.css?inline'
import { type Engine, setEngine } from '../shared/markdown.tsx'
import { PortalClient } from '../shared/portal/client.ts'
import { PortalChat } from '../shared/portal/PortalChat.tsx'
import portalCss from '../shared/portal/portal.css?inline'
import tokensCss from '../shared/tokens.css?inline'
import { CrossIcon } from '../shared/ui/icons.tsx'
import embedCss from './embed.css?inline'

const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript : undefined
const home = script ? new URL(script.src).origin : location.origin

// The renderer of answers comes when a chat is first opened: most pages that carry
// the button never need it. Until it is there answers are plain text.
let asked = false
function loadMarkdown() {
  if (asked) return
  asked = true
  Object.assign(globalThis, { belayMarkdown: (engine: Engine) => setEngine(engine) })
  const s = document.createElement('script')
  s.src = `${home}/embed-markdown.js`
  s.async = true
  document.head.append(s)
}

interface Options {
  slug: string
  token?: string
  /** Where it opens: as a button in the corner, or in its place. */
  floating: boolean
}

function kept(slug: string): { get: () => string | undefined; set: (id: string | undefined) => void } {
  const key = `belay-conversation-${home}-${slug}`
  try {
    const s = window.sessionStorage
    return {
      get: () => s.getItem(key) ?? undefined,
      set: (id) => (id ? s.setItem(key, id) : s.removeItem(key)),
    }
  } catch {
    return { get: () => undefined, set: () => undefined }
  }
}

function Embed({ slug, token, floating }: Options) {
  const conversation = kept(slug)
  // The chat is drawn when it is first opened, and stays from then on.
  const [open, setOpen] = useState(!floating)
  const [client, setClient] = useState<PortalClient | undefined>(() =>
    floating ? undefined : new PortalClient({ origin: home, slug, token }),
  )
  useEffect(() => {
    if (client) loadMarkdown()
  }, [client])
  const toggle = () => {
    setClient((c) => c ?? new PortalClient({ origin: home, slug, token }))
    setOpen(!open)
  }
  return (
    <>
      {client && (
        <section className={floating ? 'bl-panel' : 'bl-inline'} hidden={!open} aria-label="Chat">
          <PortalChat
            client={client}
            conversation={conversation.get()}
            onConversation={conversation.set}
            onClose={floating ? () => setOpen(false) : undefined}
          />
        </section>
      )}
      {floating && (
        <button
          type="button"
          className="bl-launch"
          aria-expanded={open}
          aria-label={open ? 'Close the chat' : 'Open the chat'}
          onClick={toggle}
        >
          {open ? <CrossIcon /> : <ChatIcon />}
        </button>
      )}
    </>
  )
}

function ChatIcon() {
  return (
    <svg
      width="26"
      height="26"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d="M4 5h16v11H9.5L5 20v-4H4z" />
    </svg>
  )
}

class BelayChat extends HTMLElement {
  private root: Root | undefined

  connectedCallback() {
    if (this.root) return
    const slug = this.getAttribute('portal')
    if (!slug) return
    const floating = this.hasAttribute('floating')
    // The page's own rules, important ones too, do not reach past this.
    this.style.setProperty('all', 'initial', 'important')
    this.style.setProperty('display', 'block', 'important')
    if (floating) {
      this.style.setProperty('position', 'fixed', 'important')
      this.style.setProperty('inset', 'auto 0 0 auto', 'important')
      this.style.setProperty('z-index', '2147483000', 'important')
      this.style.setProperty('overflow', 'visible', 'important')
    } else {
      this.style.setProperty('height', this.getAttribute('height') ?? '600px', 'important')
    }
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    style(shadow)
    const box = document.createElement('div')
    box.className = 'bl-root'
    const theme = this.getAttribute('theme')
    if (theme === 'light' || theme === 'dark') box.dataset.theme = theme
    shadow.append(box)
    this.root = createRoot(box)
    // The top layer: what the page does to its body, fading or turning it, stays there.
    if (floating && typeof this.showPopover === 'function') {
      this.popover = 'manual'
      this.showPopover()
    }
    this.root.render(<Embed slug={slug} token={this.getAttribute('token') ?? undefined} floating={floating} />)
  }

  disconnectedCallback() {
    this.root?.unmount()
    this.root = undefined
    this.shadowRoot?.replaceChildren()
  }
}

// A constructed sheet is no inline style: a strict policy of the page lets it be.
function style(shadow: ShadowRoot) {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(tokensCss + chatCss + portalCss + embedCss)
  shadow.adoptedStyleSheets = [sheet]
}

if (!customElements.get('belay-chat')) customElements.define('belay-chat', BelayChat)

const slug = script?.dataset.portal
if (slug) {
  const el = document.createElement('belay-chat')
  el.setAttribute('portal', slug)
  el.setAttribute('floating', '')
  for (const name of ['token', 'theme'] as const) {
    const value = script?.dataset[name]
    if (value) el.setAttribute(name, value)
  }
  const add = () => document.body.append(el)
  if (document.body) add()
  else addEventListener('DOMContentLoaded', add)
}

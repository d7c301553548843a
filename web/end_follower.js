/*
 * end_follower.js - a list that grows shows its end; who has scrolled up is left there
 *
 * Where a person is, is known from scrolling alone: when lines wrap anew, as on a phone that is
 * turned, the end has moved and nobody has scrolled.
 */

const AT_END_PX = 24;

export class EndFollower {
  #list;
  #isAtEnd = true;
  #size = '';

  constructor(list) {
    this.#list = list;
    list.addEventListener('scroll', () => this.look(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(list);
  }

  /* After each change of the list's content. */
  follow() {
    if (this.#isAtEnd) {
      this.#list.scrollTop = this.#list.scrollHeight;
    }
  }

  /* A person has moved: by scrolling, or by opening something. */
  look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#list;
    if (this.#sizeNow === this.#size) {
      this.#isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
    }
  }

  /* The content is another one. */
  restart() {
    this.#isAtEnd = true;
  }

  #resized() {
    this.#size = this.#sizeNow;
    this.follow();
  }

  get #sizeNow() {
    return `${this.#list.clientWidth} ${this.#list.clientHeight}`;
  }
}

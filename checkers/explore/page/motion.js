// Messages that move, drawn on a canvas: to move hundreds of elements takes several frames.
//
// Messages with the same displacement are drawn once, as one image. Each frame draws these images at
// their next places. Messages are drawn one by one if their image would be mostly empty.

import { element } from "./parts.js";

const LARGEST = 4; // area of an image, in areas of its messages

export class Motion {
  // `chips` have a message, a size and the places from and to. The canvas covers only the area in
  // which they move: its pixels are copied in every frame.
  constructor(canvas, chips) {
    const style = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(["flight", "changed", "ink", "blue"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.area = around(chips, ["from", "to"]);
    this.context = this.opened(canvas, this.area);
    for (const [name, value] of Object.entries(this.area)) canvas.style[name] = `${value}px`;
    const groups = new Map();
    for (const one of chips) {
      const by = `${(one.to.x - one.from.x).toFixed(1)} ${(one.to.y - one.from.y).toFixed(1)}`;
      if (!groups.has(by)) groups.set(by, []);
      groups.get(by).push(one);
    }
    const isDense = (group) => {
      const { width, height } = around(group, ["from"]);
      return group.length > 1 && width * height <= LARGEST * group.reduce((sum, { size }) => sum + size.x * size.y, 0);
    };
    this.images = [...groups.values()].filter(isDense).map((group) => this.image(group));
    this.single = [...groups.values()].filter((group) => !isDense(group)).flat();
  }

  // Draws the messages after this part of their way, from 0 to 1.
  draw(part) {
    const { left, top, width, height } = this.area;
    this.context.clearRect(left, top, width, height);
    for (const { image, first, left, top, width, height } of this.images) {
      const { x, y } = between(first, part);
      this.context.drawImage(image, left + x - first.from.x, top + y - first.from.y, width, height);
    }
    for (const one of this.single) this.paint(this.context, one, between(one, part));
  }

  image(group) {
    const area = around(group, ["from"]);
    const image = element("canvas");
    const context = this.opened(image, area);
    for (const one of group) this.paint(context, one, one.from);
    return { image, first: group[0], ...area };
  }

  opened(canvas, { left, top, width, height }) {
    const scale = devicePixelRatio;
    Object.assign(canvas, { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, -left * scale, -top * scale);
    context.font = "9px ui-monospace, monospace";
    context.textBaseline = "middle";
    context.imageSmoothingEnabled = false;
    return context;
  }

  paint(context, { message, size }, { x, y }) {
    context.fillStyle = message.changed ? this.colours.changed : this.colours.flight;
    context.fillRect(x, y, size.x, size.y);
    context.strokeStyle = this.colours.blue;
    context.strokeRect(x + 0.5, y + 0.5, size.x - 1, size.y - 1);
    context.fillStyle = this.colours.ink;
    context.fillText(message.id, x + 4, y + size.y / 2);
  }
}

// The place of a message after this part of its way.
export function between({ from, to }, part) {
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

// The smallest rectangle of whole pixels around the messages at these ends of their ways.
function around(chips, ends) {
  const side = (axis) => {
    const all = chips.flatMap((one) => ends.map((end) => [one[end][axis], one[end][axis] + one.size[axis]]));
    const first = Math.floor(Math.min(...all.map((it) => it[0])));
    return [first, Math.ceil(Math.max(...all.map((it) => it[1]))) - first];
  };
  const [left, width] = side("x");
  const [top, height] = side("y");
  return { left, top, width, height };
}

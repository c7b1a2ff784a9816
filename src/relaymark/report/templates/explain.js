(function () {
  var holder = document.getElementById("sliders");
  if (!holder) return;
  var stages = JSON.parse(holder.getAttribute("data-stages"));
  var answer = document.getElementById("speedup");
  var inputs = [];
  function factor(input) {
    return input.value === input.max ? Infinity : Math.pow(2, Number(input.value));
  }
  function show() {
    var left = 0;
    stages.forEach(function (stage, place) {
      var f = inputs[place] ? factor(inputs[place]) : 1;
      left += stage.s / f;
      if (inputs[place]) {
        inputs[place].nextOutput.textContent = f === Infinity ? "no time" : f.toFixed(f < 10 ? 1 : 0) + " ×";
      }
    });
    answer.textContent = left > 0 ? (1 / left).toFixed(2) + " × faster" : "no time at all";
  }
  stages.forEach(function (stage, place) {
    if (stage.own) { inputs.push(null); return; }
    var label = document.createElement("label");
    label.textContent = stage.n;
    label.htmlFor = "slide" + place;
    var input = document.createElement("input");
    input.type = "range"; input.min = "0"; input.max = "5"; input.step = "0.1"; input.value = "0";
    input.id = "slide" + place; input.className = "c" + stage.c;
    var output = document.createElement("output");
    input.nextOutput = output;
    input.addEventListener("input", show);
    holder.append(label, input, output);
    inputs.push(input);
  });
  document.getElementById("whatif").hidden = false;
  show();
})();
